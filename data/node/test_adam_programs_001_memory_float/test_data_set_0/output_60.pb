BH_second_attributesJÕÍ?]Â›?wy@4
@