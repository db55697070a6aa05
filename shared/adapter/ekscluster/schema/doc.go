// Package schema does to objects of our kinds what an API server does by their definitions alone: prune, default,
// validate against the schema, check list types, evaluate CEL rules. The definitions are those that the program is
// built with, and the parts are the API server's own.
//
//	kinds := &schema.Kinds{}
//	problems, err := kinds.Problems(ctx, "karpenter.sh/v1", "NodePool", text)
package schema
