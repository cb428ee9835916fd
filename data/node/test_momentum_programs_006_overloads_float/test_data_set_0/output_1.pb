BV_new_fast_0J²¾Ê±6¾Ò^t>gþ
?