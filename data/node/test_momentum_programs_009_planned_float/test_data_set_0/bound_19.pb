BV_new_decayed_aloneJ –‹-_M“>Æu^m‡A£>
n ),>…Ø,ð ®…>