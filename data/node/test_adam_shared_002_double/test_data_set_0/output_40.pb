BV_new_XGVH_zeroJ ЮЫВояaд?=г$‹›*
@€ф‰б	@nwєкій?