BH35J¥OX@Pè
@