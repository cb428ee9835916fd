B
H_second_TJ¶ž
@–—@ÝF@:°@