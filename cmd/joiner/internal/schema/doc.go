// Package schema says what an API server would say of objects of our kinds by their definitions alone: schema, defaults
// and CEL rules. The definitions are those that this program is built with, and the parts are the API server's own.
//
//	kinds := &schema.Kinds{}
//	problems, err := kinds.Problems(ctx, "karpenter.sh/v1", "NodePool", text)
package schema
