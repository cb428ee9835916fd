BvvvvvvvvJ ЩђV цн
@HХўПЋпе?µYЖющ2@јФrпQoг?