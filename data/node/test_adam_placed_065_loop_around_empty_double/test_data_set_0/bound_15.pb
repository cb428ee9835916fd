BV4_new_laterJG&s9
1>?6Áo…6>