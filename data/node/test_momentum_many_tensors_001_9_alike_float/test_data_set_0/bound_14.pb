BV6_newJ‘8AKi~>ϋ¨ιτ
f>