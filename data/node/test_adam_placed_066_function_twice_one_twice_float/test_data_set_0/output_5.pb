BV2_new_laterJ+v
¿÷wê?Ê>ÐªE¾~jž?ØEl¿