BV5_newJ
ó¬q¶Aµ<ƒä½Ki8·<