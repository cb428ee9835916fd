BV_new_fast_3J²¾Ê±6¾Ò^t>gþ
?