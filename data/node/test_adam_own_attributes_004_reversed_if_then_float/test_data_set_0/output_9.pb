B
X10_new_ifJ…?΄HΣ>φέ£?dm“<