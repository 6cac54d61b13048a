"""The only room that knows formats: images, transforms, and how to write them safely."""
