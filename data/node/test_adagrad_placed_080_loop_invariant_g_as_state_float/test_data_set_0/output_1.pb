BX1_new_laterJöä
@Bº@@ğ˜?ñv@