BV_new_capturedJ0Yp―sΚC–>ώτQΆ™>'i/~+=£>e](κYέ >Δ‚μdz>Οη½]
”>