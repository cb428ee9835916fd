BX1_new_laterJ §f±fSn>«,.!΄Q>©‘Ϊ=ΝU>*
{φίf>