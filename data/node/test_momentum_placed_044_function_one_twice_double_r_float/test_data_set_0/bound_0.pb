BX1_new_capturedJ0ıﬂXfkOÕ<Å≥qû±¨≈<Ó’œ≤
≤<ùÕø.ZñÀ<L"kCK∞<ëúâx»∑À<