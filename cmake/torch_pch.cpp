// Nothing but the precompiled header that every LibTorch source of this tree shares: see tenon_use_torch.
