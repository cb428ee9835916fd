BAbcDefghijklmnopJI
1?η·?κ”σ>Σ¦>