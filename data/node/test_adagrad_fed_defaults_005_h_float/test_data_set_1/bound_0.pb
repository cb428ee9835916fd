BX_newJ uµ
PZч”>»;¶а‘>wЪРФв’>VJhL@“>