BX2_new_laterJLúÚ?
@†v@,™–>ÿÂ,À-ìa?