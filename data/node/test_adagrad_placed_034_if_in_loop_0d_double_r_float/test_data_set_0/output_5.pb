BH_new_twin_if_loopJÆoî-X‰
@Æoî-X‰
@