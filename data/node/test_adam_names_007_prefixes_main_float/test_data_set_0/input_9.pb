B
vvvvvvvvvvJY‰F@$<@ìí;@hãp@