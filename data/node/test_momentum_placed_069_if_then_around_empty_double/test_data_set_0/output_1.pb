BX1_new_later_ifJ ê¿Üé¢Ù?ÄÙ[uCò?£$¿nh
@”‚KÉ’-ò¿