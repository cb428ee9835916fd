B
H_second_RJ¶ž
@–—@ÝF@:°@