"""Networks for text and speech with drawn weights: small configurations of transformers. Rows as in torch_vision.py."""
import torch

from exported.torch_vision import first_of


def tokens(length=64, batch=1, vocabulary=1000):
    return torch.randint(3, vocabulary, (batch, length))


def encoder(name, config_name, **options):
    def make():
        import transformers

        config = getattr(transformers, config_name)(**options)
        module = getattr(transformers, name)(config)
        ids = tokens(vocabulary=min(1000, config.vocab_size))
        open_sizes = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "attention_mask")}
        return first_of(module, "last_hidden_state"), (ids, torch.ones_like(ids)), ["input_ids", "attention_mask"], open_sizes

    return make


def causal(name, config_name, mask=True, **options):
    """Logits of a prompt, without a cache."""

    def make():
        import transformers

        config = getattr(transformers, config_name)(use_cache=False, **options)
        module = getattr(transformers, name)(config)
        ids = tokens(vocabulary=min(1000, config.vocab_size))
        inputs = ["input_ids", "attention_mask"] if mask else ["input_ids"]

        class Logits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = module

            def forward(self, *arguments):
                return self.inside(**dict(zip(inputs, arguments))).logits

        return Logits(), (ids, torch.ones_like(ids))[: len(inputs)], inputs, {name: {0: "batch", 1: "sequence"} for name in inputs}

    return make


def causal_with_cache(name, config_name, **options):
    """One word more behind a cache of 64: past key values in, present ones out."""

    def make():
        import transformers
        from transformers import DynamicCache

        config = getattr(transformers, config_name)(use_cache=True, **options)
        module = getattr(transformers, name)(config)
        layers, heads = config.num_hidden_layers, getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = config.hidden_size // config.num_attention_heads

        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = module

            def forward(self, input_ids, attention_mask, *past):
                cache = DynamicCache()
                for layer in range(layers):
                    cache.update(past[2 * layer], past[2 * layer + 1], layer)
                out = self.inside(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
                present = [tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]
                return (out.logits, *present)

        past = [torch.randn(1, heads, 64, size) for _ in range(2 * layers)]
        names = [f"past.{layer}.{part}" for layer in range(layers) for part in ("key", "value")]
        open_sizes = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "total"}, **{name: {0: "batch", 2: "past"} for name in names}}
        return Step(), (tokens(1), torch.ones(1, 65, dtype=torch.int64), *past), ["input_ids", "attention_mask", *names], open_sizes

    return make


def seq2seq(name, config_name, **options):
    def make():
        import transformers

        module = getattr(transformers, name)(getattr(transformers, config_name)(use_cache=False, **options))

        class Both(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = module

            def forward(self, input_ids, attention_mask, decoder_input_ids):
                return self.inside(input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=decoder_input_ids).logits

        ids = tokens(48)
        open_sizes = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "sequence"}, "decoder_input_ids": {0: "batch", 1: "words"}}
        return Both(), (ids, torch.ones_like(ids), tokens(16)), list(open_sizes), open_sizes

    return make


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    module = WhisperForConditionalGeneration(WhisperConfig(d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4,
                                                           encoder_ffn_dim=1024, decoder_ffn_dim=1024, vocab_size=4000, use_cache=False, max_source_positions=500,
                                                           pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None))

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = module

        def forward(self, features, words):
            return self.inside(input_features=features, decoder_input_ids=words).logits

    return Both(), (torch.randn(1, 80, 1000), tokens(16)), ["features", "words"], {"features": {0: "batch"}, "words": {0: "batch", 1: "sequence"}}


def clip():
    from transformers import CLIPConfig, CLIPModel

    text = dict(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4, vocab_size=4000, eos_token_id=2)
    vision = dict(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4, image_size=224, patch_size=32)
    module = CLIPModel(CLIPConfig(text_config=text, vision_config=vision))

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = module

        def forward(self, input_ids, pixel_values, attention_mask):
            out = self.inside(input_ids=input_ids, pixel_values=pixel_values, attention_mask=attention_mask)
            return out.logits_per_image, out.text_embeds

    ids = tokens(24, 2)
    return Both(), (ids, torch.randn(1, 3, 224, 224), torch.ones_like(ids)), ["input_ids", "pixel_values", "attention_mask"], {}


SMALL = dict(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4, vocab_size=4000)
LLAMA = dict(hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=4000, head_dim=32)
GPT = dict(n_embd=256, n_layer=4, n_head=4, vocab_size=4000)
SEQUENCES = dict(d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, vocab_size=4000)
MODELS = {
    "roberta_small": encoder("RobertaModel", "RobertaConfig", **SMALL, pad_token_id=1),
    "distilbert_small": encoder("DistilBertModel", "DistilBertConfig", dim=256, hidden_dim=1024, n_layers=4, n_heads=4, vocab_size=4000),
    "deberta_v2_small": encoder("DebertaV2Model", "DebertaV2Config", **SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=32),
    "albert_small": encoder("AlbertModel", "AlbertConfig", **SMALL),
    "electra_small": encoder("ElectraModel", "ElectraConfig", **SMALL),
    "mpnet_small": encoder("MPNetModel", "MPNetConfig", **SMALL),
    "modernbert_small": encoder("ModernBertModel", "ModernBertConfig", **SMALL, pad_token_id=0, global_attn_every_n_layers=2, local_attention=32),
    "funnel_small": encoder("FunnelModel", "FunnelConfig", vocab_size=4000, block_sizes=[2, 2], d_model=256, n_head=4, d_head=64, d_inner=1024),
    "squeezebert_small": encoder("SqueezeBertModel", "SqueezeBertConfig", **SMALL, embedding_size=256),
    "fnet_small": encoder("FNetModel", "FNetConfig", hidden_size=256, intermediate_size=1024, num_hidden_layers=4, vocab_size=4000),
    "roformer_small": encoder("RoFormerModel", "RoFormerConfig", **SMALL),
    "t5_small": seq2seq("T5ForConditionalGeneration", "T5Config", d_model=256, d_kv=64, d_ff=1024, num_layers=3, num_heads=4, vocab_size=4000, decoder_start_token_id=0),
    "bart_small": seq2seq("BartForConditionalGeneration", "BartConfig", **SEQUENCES),
    "marian_small": seq2seq("MarianMTModel", "MarianConfig", **SEQUENCES, pad_token_id=0, decoder_start_token_id=0),
    "pegasus_small": seq2seq("PegasusForConditionalGeneration", "PegasusConfig", **SEQUENCES),
    "whisper_small": whisper, "clip_small": clip,
    "gpt_neox_small": causal("GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL),
    "opt_small": causal("OPTForCausalLM", "OPTConfig", hidden_size=256, ffn_dim=1024, num_hidden_layers=4, num_attention_heads=4, vocab_size=4000, word_embed_proj_dim=256),
    "bloom_small": causal("BloomForCausalLM", "BloomConfig", hidden_size=256, n_layer=4, n_head=4, vocab_size=4000),
    "phi_small": causal("PhiForCausalLM", "PhiConfig", **SMALL),
    "gemma_small": causal("GemmaForCausalLM", "GemmaConfig", **LLAMA),
    "qwen2_small": causal("Qwen2ForCausalLM", "Qwen2Config", **{k: v for k, v in LLAMA.items() if k != "head_dim"}),
    "falcon_small": causal("FalconForCausalLM", "FalconConfig", hidden_size=256, num_hidden_layers=4, num_attention_heads=4, vocab_size=4000, alibi=False),
    "codegen_small": causal("CodeGenForCausalLM", "CodeGenConfig", **GPT, rotary_dim=32),
    "mamba_small": causal("MambaForCausalLM", "MambaConfig", mask=False, hidden_size=256, num_hidden_layers=4, vocab_size=4000),
    "rwkv_small": causal("RwkvForCausalLM", "RwkvConfig", mask=False, hidden_size=256, attention_hidden_size=256, num_hidden_layers=4, vocab_size=4000),
    "llama_cache": causal_with_cache("LlamaForCausalLM", "LlamaConfig", **LLAMA),
    "mistral_cache": causal_with_cache("MistralForCausalLM", "MistralConfig", **LLAMA, sliding_window=128),
    "gpt2_cache": causal_with_cache("GPT2LMHeadModel", "GPT2Config", **GPT),
    "qwen3_cache": causal_with_cache("Qwen3ForCausalLM", "Qwen3Config", **LLAMA),
}
