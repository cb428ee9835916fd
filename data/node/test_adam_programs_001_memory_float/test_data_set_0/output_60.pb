BH_secondJÕÍ?]Â›?wy@4
@