BH_newJ ¥mL״פ?דxJֶד?Oהגm–
@Eשהנ™ק?