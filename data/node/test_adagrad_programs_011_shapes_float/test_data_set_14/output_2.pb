BH_new_shapes_1J(pÏ@x7½?FlÁ@ì›ˆ@ó
E@Íéƒ?¾Ã@Hœ
@{5^?
•h@