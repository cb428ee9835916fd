BV1_new_twin_atJþÜ>0ÿs>
4ã>×¥H=