BHJ(—TÌ7ZSÒ°cT8CBT€0[TÅmnT
9•S