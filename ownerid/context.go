package ownerid

import "context"

// contextKey is private, so that no other package can put an owner into a context behind NewContext's back.
type contextKey struct{}

// NewContext is ctx with id as the owner: whoever is handed it acquires and releases as id. It panics if id is no owner,
// since a context that silently fell back to the goroutine would exclude nobody it was meant to; to take an owner out of a
// context there is [Without].
func NewContext(ctx context.Context, id ID) context.Context {
	if id.IsZero() {
		panic("ownerid: NewContext with the zero ID")
	}
	return context.WithValue(ctx, contextKey{}, id)
}

// FromContext is the owner that ctx carries; false if it carries none, or one that was hidden with [Without].
func FromContext(ctx context.Context) (ID, bool) {
	id, _ := ctx.Value(contextKey{}).(ID)
	return id, !id.IsZero()
}

// Without is ctx without an owner. Values, deadline and cancellation stay. Use it before handing a context to goroutines
// that must exclude each other and their caller.
func Without(ctx context.Context) context.Context {
	if _, carried := FromContext(ctx); !carried {
		return ctx
	}
	// A context cannot drop a value, only cover it.
	return context.WithValue(ctx, contextKey{}, ID{})
}
