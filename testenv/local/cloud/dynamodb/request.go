package dynamodb

import (
	"reflect"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// refuse answers the first parameter the model does not know, so that none is silently ignored.
func (l Legacy) refuse() error {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if v.Field(i).Len() > 0 {
			return invalidf("%s is not modelled: use expressions", v.Type().Field(i).Name)
		}
	}
	return nil
}

// tableName returns the name in a parameter that may be a table name or its ARN.
func tableName(parameter string) (string, error) {
	if parameter == "" {
		return "", absent("tableName")
	}
	name := parameter
	if strings.HasPrefix(parameter, "arn:") {
		_, name, _ = strings.Cut(parameter, ":table/")
	}
	return name, checkName("tableName", name)
}

// checkName refuses what cannot be the name of a table or index.
func checkName(member, name string) error {
	for _, c := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", c) {
			return outside(member, name, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
		}
	}
	switch {
	case len(name) < 3:
		return outside(member, name, "Member must have length greater than or equal to 3")
	case len(name) > 255:
		return outside(member, name, "Member must have length less than or equal to 255")
	}
	return nil
}

// usable returns the table if requests for items may use it.
func (m *Model) usable(parameter string) (*table, error) {
	name, err := tableName(parameter)
	if err != nil {
		return nil, err
	}
	t := m.tables[name]
	if t == nil || !t.goneAt.IsZero() || m.clock.Now().Before(t.activeAt) {
		return nil, errNoTable()
	}
	return t, nil
}

// newEnv checks the placeholders of a request; missing names the expressions that could have used values
// and were not sent, nil when one was.
func newEnv(names map[string]string, values map[string]attribute.Value, anyExpression bool, missing string) (*expression.Env, error) {
	if !anyExpression && names != nil {
		return nil, invalidf("ExpressionAttributeNames can only be specified when using expressions")
	}
	if missing != "" && values != nil {
		return nil, invalidf("ExpressionAttributeValues can only be specified when using expressions: %s", missing)
	}
	return expression.NewEnv(names, values)
}

// parseReadProjection parses the projection of a read that has no other expression; nil stands for all.
func parseReadProjection(text *string, names map[string]string) (*expression.Projection, error) {
	env, err := newEnv(names, nil, text != nil, "")
	if err != nil || text == nil {
		return nil, err
	}
	p, err := expression.ParseProjection(*text, env)
	if err != nil {
		return nil, err
	}
	return p, env.Unused()
}

// checkKeyPaths refuses paths that look into a key attribute, which is always a scalar.
func (t *table) checkKeyPaths(paths []expression.Path) error {
	for _, path := range paths {
		for _, a := range t.key.attributes() {
			if len(path) > 1 && path.Top() == a.name {
				return invalidf("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", a.name)
			}
		}
	}
	return nil
}
