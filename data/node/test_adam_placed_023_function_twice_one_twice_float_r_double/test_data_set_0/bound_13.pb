BX2_new_againJ0„Ã˜
NS >O òD>±>Ë–î™D—>ô?¼£Ñ©>Á±G½»9ª>jQIÍž>