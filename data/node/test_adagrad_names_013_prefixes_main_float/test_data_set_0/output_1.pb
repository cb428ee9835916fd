BvvvvvvvJÿz´@Á]@d
?Mð…@