BX2_new_laterJç¿|
=]D≠øk„ø