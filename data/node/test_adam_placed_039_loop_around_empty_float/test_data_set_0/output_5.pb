BV1_new_laterJyh?<!
@>µÀÆAÏ>