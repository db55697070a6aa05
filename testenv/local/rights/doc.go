// Package rights reads from templates who may do what: the roles of a stack with their trust and their policies, and the policies of
// its queues, buckets and functions. It gives them to a Book (package access), which decides by them: of the model of AWS, so that
// functions run with exactly the rights that ship, or of a test that asks questions.
//
//	region, err := rights.Open("template.json", environment)
//	err = rights.Add(book, region)
//
// A role that holds managed policies of AWS's is left out, because what those say is not in the template; Add tells which.
package rights
