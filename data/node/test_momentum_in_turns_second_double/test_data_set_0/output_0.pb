BX_newJ 
σ
ªn*υ?U―–υσΏ[R‡νξΏupLk£ζΏ