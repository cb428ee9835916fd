BH_newJ {<V@øVº<÷ÆAbBÀ<’œ•ü¾¿<M.½s
[Ý<