BH7JOÕN
@