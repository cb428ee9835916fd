BV2_new_twin_laterJ+v
¿÷wê?Ê>ÐªE¾~jž?ØEl¿