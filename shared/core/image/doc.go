// Package image decides where a class's images are to be looked for ([Queries]) and which of those found are used
// ([Choose]). Looking itself is adapter/ec2catalog's; which image a type boots from is core/offering's ImageFor.
//
//	queries, err := image.Queries(class, "1.36")
//	class.Status.Images = image.Choose(found)
package image
