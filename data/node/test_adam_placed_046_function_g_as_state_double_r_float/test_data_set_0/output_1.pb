BX1_new_laterJ foe`(
@p9Ｔ|V򦦃\豄膚瓦@