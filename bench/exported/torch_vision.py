"""Networks for images, videos and sound with drawn weights: torchvision, timm, transformers. A row is a name and a function that gives
module, arguments, names of inputs and which sizes stay open (by input and axis)."""
import torch


def image(size=224, batch=1, channels=3):
    return (torch.randn(batch, channels, size, size),)


def torchvision_classifier(name, size=224, **options):
    def make():
        import torchvision

        return getattr(torchvision.models, name)(weights=None, **options), image(size), ["image"], {"image": {0: "batch"}}

    return make


def torchvision_segmentation(name, size=224):
    def make():
        import torchvision

        module = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=21)

        class First(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = module

            def forward(self, x):
                return self.inside(x)["out"]

        return First(), image(size), ["image"], {"image": {0: "batch", 2: "height", 3: "width"}}

    return make


def torchvision_detection(name, size=320, **options):
    def make():
        import torchvision

        module = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, **options)

        class OneImage(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = module

            def forward(self, x):
                found = self.inside([x])[0]
                return tuple(found.values())

        return OneImage(), (torch.rand(3, size, size),), ["image"], {}

    return make


def torchvision_video(name):
    def make():
        import torchvision

        return getattr(torchvision.models.video, name)(weights=None), (torch.randn(1, 3, 8, 112, 112),), ["video"], {"video": {0: "batch"}}

    return make


def raft():
    import torchvision

    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = torchvision.models.optical_flow.raft_small(weights=None)

        def forward(self, one, two):
            return self.inside(one, two, num_flow_updates=4)[-1]

    return Last(), (torch.rand(1, 3, 128, 160), torch.rand(1, 3, 128, 160)), ["one", "two"], {}


def timm_classifier(name, size=224):
    """At the size that the model is meant for where size is None."""

    def make():
        import timm

        module = timm.create_model(name, pretrained=False)
        return module, image(size or module.default_cfg["input_size"][-1]), ["image"], {"image": {0: "batch"}}

    return make


def first_of(module, *fields):
    """A module of transformers that gives tensors and takes them by place."""

    class Fields(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = module

        def forward(self, *arguments):
            out = self.inside(*arguments, return_dict=True)
            return tuple(getattr(out, field) for field in fields)

    return Fields()


def segformer():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    module = SegformerForSemanticSegmentation(SegformerConfig(num_labels=21))
    return first_of(module, "logits"), image(256), ["pixel_values"], {"pixel_values": {0: "batch"}}


def detr():
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    backbone = ResNetConfig(depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", out_features=["stage4"])
    config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, encoder_layers=3, decoder_layers=3)
    return first_of(DetrForObjectDetection(config), "logits", "pred_boxes"), image(256), ["pixel_values"], {}


def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    module = Wav2Vec2ForCTC(Wav2Vec2Config(num_hidden_layers=4, hidden_size=256, intermediate_size=1024, num_attention_heads=4))
    return first_of(module, "logits"), (torch.randn(1, 16000),), ["samples"], {"samples": {0: "batch", 1: "length"}}


def conv_tasnet():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels, hidden, dilation):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv1d(channels, hidden, 1), nn.PReLU(), nn.GroupNorm(1, hidden),
                nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden), nn.PReLU(), nn.GroupNorm(1, hidden))
            self.skip, self.out = nn.Conv1d(hidden, channels, 1), nn.Conv1d(hidden, channels, 1)

        def forward(self, x):
            y = self.body(x)
            return x + self.out(y), self.skip(y)

    class ConvTasNet(nn.Module):
        def __init__(self, filters=256, channels=128, hidden=256, speakers=2):
            super().__init__()
            self.encoder = nn.Conv1d(1, filters, 16, stride=8, bias=False)
            self.norm, self.bottleneck = nn.GroupNorm(1, filters), nn.Conv1d(filters, channels, 1)
            self.blocks = nn.ModuleList(Block(channels, hidden, 2**i) for _ in range(2) for i in range(6))
            self.mask = nn.Conv1d(channels, filters * speakers, 1)
            self.decoder, self.speakers = nn.ConvTranspose1d(filters, 1, 16, stride=8, bias=False), speakers

        def forward(self, x):
            coded = torch.relu(self.encoder(x))
            y, total = self.bottleneck(self.norm(coded)), 0
            for block in self.blocks:
                y, skip = block(y)
                total = total + skip
            masks = torch.sigmoid(self.mask(total)).view(x.shape[0], self.speakers, coded.shape[1], -1)
            parts = (masks * coded.unsqueeze(1)).flatten(0, 1)
            return self.decoder(parts).view(x.shape[0], self.speakers, -1)

    return ConvTasNet(), (torch.randn(1, 1, 16000),), ["samples"], {"samples": {2: "length"}}


def hifigan():
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, channels, kernel):
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv1d(channels, channels, kernel, dilation=d, padding=(kernel - 1) * d // 2) for d in (1, 3, 5))

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(nn.functional.leaky_relu(x, 0.1))
            return x

    class Vocoder(nn.Module):
        def __init__(self, channels=128):
            super().__init__()
            self.first, self.ups, self.blocks = nn.Conv1d(80, channels, 7, padding=3), nn.ModuleList(), nn.ModuleList()
            for factor in (8, 8, 2, 2):
                self.ups.append(nn.ConvTranspose1d(channels, channels // 2, 2 * factor, stride=factor, padding=factor // 2))
                channels //= 2
                self.blocks.append(nn.ModuleList(Residual(channels, kernel) for kernel in (3, 7, 11)))
            self.last = nn.Conv1d(channels, 1, 7, padding=3)

        def forward(self, x):
            x = self.first(x)
            for up, blocks in zip(self.ups, self.blocks):
                x = up(nn.functional.leaky_relu(x, 0.1))
                x = sum(block(x) for block in blocks) / len(blocks)
            return torch.tanh(self.last(nn.functional.leaky_relu(x)))

    return Vocoder(), (torch.randn(1, 80, 64),), ["mel"], {"mel": {2: "frames"}}


CLASSIFIERS = ["densenet121", "googlenet", "mnasnet1_0", "regnet_y_400mf", "regnet_x_800mf", "efficientnet_v2_s", "swin_t", "swin_v2_t",
               "maxvit_t", "shufflenet_v2_x1_0", "squeezenet1_1", "resnext50_32x4d", "wide_resnet50_2", "alexnet", "vgg11_bn", "vit_b_32"]
TIMM = ["convnextv2_atto", "efficientformer_l1", "ghostnet_100", "mobilevit_xs", "mobilevitv2_050", "poolformer_s12", "coatnet_nano_rw_224", "tiny_vit_5m_224", "res2net50_26w_4s",
        "hrnet_w18_small", "edgenext_xx_small", "repvgg_a0", "levit_128s", "mixer_s32_224", "fastvit_t8", "repghostnet_100", "xcit_nano_12_p16_224", "dla34",
        "tf_efficientnet_lite0", "mobilenetv4_conv_small", "efficientvit_b0", "nfnet_l0", "pvt_v2_b0", "cait_xxs24_224", "resnest14d", "eca_nfnet_l0", "volo_d1_224",
        "skresnet18", "inception_next_atto", "hardcorenas_a", "lcnet_050", "starnet_s1", "crossvit_tiny_240", "gmlp_ti16_224", "rexnet_100", "dpn48b", "selecsls42b", "vovnet39a", "cspdarknet53"]
TIMM_OWN_SIZE = ["beit_base_patch16_224", "deit_tiny_distilled_patch16_224", "davit_tiny", "eva02_tiny_patch14_224", "hiera_tiny_224", "nest_tiny", "twins_svt_small", "twins_pcpvt_small",
                 "pit_ti_224", "mobileone_s0", "focalnet_tiny_srf", "gcvit_xxtiny", "cspnext_tiny", "hgnet_tiny", "hgnetv2_b0", "dm_nfnet_f0", "sequencer2d_s", "tresnet_m", "vitamin_small_224",
                 "rdnet_tiny", "visformer_tiny", "convit_tiny", "efficientvit_m0", "mvitv2_tiny", "tnt_s_patch16_224", "resmlp_12_224", "coat_lite_tiny", "ese_vovnet19b_dw", "ghostnetv2_100",
                 "mobilenet_edgetpu_v2_xs", "tinynet_e", "fbnetv3_b", "gernet_s", "halonet26t", "lambda_resnet26t", "botnet26t_256", "bat_resnext26ts", "regnetz_005", "resnetv2_18", "resnet50_gn",
                 "xception41", "inception_resnet_v2", "nextvit_small", "repvit_m0_9", "mixnet_s", "caformer_s18", "convformer_s18", "poolformerv2_s12", "swiftformer_xs", "shvit_s1",
                 "mambaout_femto", "cs3darknet_focus_s", "dla60_res2next", "fasternet_t0", "vit_srelpos_small_patch16_224", "efficientnet_blur_b0", "sebotnet33ts_256", "regnetz_b16_evos",
                 "swinv2_cr_tiny_224", "csatv2", "legacy_seresnet18", "resnetblur18"]
MODELS = {
    **{name: torchvision_classifier(name, init_weights=True) if name == "googlenet" else torchvision_classifier(name) for name in CLASSIFIERS},
    "inception_v3": torchvision_classifier("inception_v3", 299, init_weights=True),
    "deeplabv3_mobilenet": torchvision_segmentation("deeplabv3_mobilenet_v3_large"),
    "lraspp": torchvision_segmentation("lraspp_mobilenet_v3_large"),
    "fcn_resnet50": torchvision_segmentation("fcn_resnet50", 160),
    "ssdlite320": torchvision_detection("ssdlite320_mobilenet_v3_large"),
    "fasterrcnn_mobilenet_320": torchvision_detection("fasterrcnn_mobilenet_v3_large_320_fpn"),
    "keypointrcnn": torchvision_detection("keypointrcnn_resnet50_fpn", min_size=256, max_size=320),
    "maskrcnn": torchvision_detection("maskrcnn_resnet50_fpn", min_size=256, max_size=320),
    "retinanet": torchvision_detection("retinanet_resnet50_fpn", min_size=256, max_size=320),
    "r3d_18": torchvision_video("r3d_18"),
    "r2plus1d_18": torchvision_video("r2plus1d_18"),
    "raft_small": raft,
    **{name: timm_classifier(name, 240 if name.endswith("240") else 224) for name in TIMM},
    **{name: timm_classifier(name, None) for name in TIMM_OWN_SIZE},
    "segformer_b0": segformer, "detr_resnet18": detr, "wav2vec2_small": wav2vec2, "conv_tasnet": conv_tasnet, "hifigan_small": hifigan,
}
