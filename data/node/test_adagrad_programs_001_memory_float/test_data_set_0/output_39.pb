BH_first_attributesJ¶ž
@–—@ÝF@:°@