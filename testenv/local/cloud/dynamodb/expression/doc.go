// Package expression is the DynamoDB expression language: lexer, parsers, static checks and evaluation of
// condition, filter, key condition, projection and update expressions.
//
// It decides whether an expression is well formed, with the message AWS answers when it is not, whether an
// item satisfies a condition, and what an item becomes under an update. It does not know tables: that an
// update leaves the key alone, that a key condition names the key, and sizes are checked by package dynamodb.
//
//	env, err := expression.NewEnv(nil, map[string]attribute.Value{":v": attribute.Int(3)})
//	cond, err := expression.ParseCondition("ConditionExpression", "attribute_not_exists(pk) OR v < :v", env)
//	err = env.Unused() // refuses placeholders that no expression used
//	cond.Matches(item)
package expression
