BH_new_if_loopJÆoî-X‰
@Æoî-X‰
@