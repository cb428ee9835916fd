BH1_new_twin_atJþê@,@ßw@@Ñ
@