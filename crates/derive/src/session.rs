//! `#[derive(Message)]` and `#[derive(Action)]`.

mod attributes;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{DeriveInput, Result, parse_quote};

use attributes::{Action, Message};

pub fn message(input: &DeriveInput) -> Result<TokenStream> {
    let Message {
        krate,
        kind,
        delivery,
    } = Message::parse(input)?;
    let name = &input.ident;
    // Located at the name, so that the compiler's error about an unknown one, which lists the known, points there.
    let delivery = quote_spanned!(delivery.span()=> #krate::Delivery::named(#delivery));
    let kind = match kind {
        Some(number) => quote!(#krate::MessageKind::of_game(#number)),
        None => {
            let name = name.unraw().to_string();
            quote!(#krate::MessageKind::of_name(#name))
        }
    };
    let mut generics = input.generics.clone();
    if !generics.params.is_empty() {
        generics
            .make_where_clause()
            .predicates
            .push(parse_quote!(Self: #krate::wire::Wire + 'static));
    }
    let (params, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        const _: () = {
            // Evaluated here, so that a number that is no kind and a name that is no delivery do not compile even if nobody sends the message.
            const KIND: #krate::MessageKind = #kind;
            const DELIVERY: #krate::Delivery = #delivery;

            #[automatically_derived]
            impl #params #krate::Message for #name #arguments #clause {
                const KIND: #krate::MessageKind = KIND;
                const DELIVERY: #krate::Delivery = DELIVERY;
            }
        };
    })
}

pub fn action(input: &DeriveInput) -> Result<TokenStream> {
    let Action {
        krate,
        command,
        denial,
    } = Action::parse(input)?;
    let name = &input.ident;
    let command = command.map_or_else(|| quote!(Self), |ty| quote!(#ty));
    let denial = denial.map_or_else(|| quote!(::std::string::String), |ty| quote!(#ty));
    let mut generics = input.generics.clone();
    if !generics.params.is_empty() {
        generics
            .make_where_clause()
            .predicates
            .push(parse_quote!(Self: #krate::Message));
    }
    let (params, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #params #krate::Action for #name #arguments #clause {
            type Command = #command;
            type Denial = #denial;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(result: Result<TokenStream>) -> String {
        result.unwrap().to_string().replace(' ', "")
    }

    fn error_of(input: DeriveInput) -> String {
        message(&input).unwrap_err().to_string()
    }

    #[test]
    fn a_message_is_named_and_ordered_unless_it_says_otherwise() {
        let text = expansion(message(&parse_quote! {
            struct Chat { text: String }
        }));
        assert!(text.contains("::samestep_session::MessageKind::of_name(\"Chat\")"));
        assert!(text.contains("Delivery::named(\"reliable-ordered\");"));

        let text = expansion(message(&parse_quote! {
            #[message(kind = FIRST + 1, delivery = "unreliable-sequenced", crate = game::net)]
            enum Pose { Standing, Lying }
        }));
        assert!(text.contains("implgame::net::MessageforPose"));
        assert!(text.contains("game::net::MessageKind::of_game(FIRST+1)"));
        assert!(text.contains("Delivery::named(\"unreliable-sequenced\");"));
    }

    #[test]
    fn a_delivery_that_is_no_name_is_refused() {
        let error = error_of(parse_quote! {
            #[message(delivery = 7)]
            struct Chat;
        });
        assert!(error.contains("string literal"), "{error}");
    }

    #[test]
    fn what_cannot_be_a_kind_is_refused() {
        for kind in ["0xFF00", "65536", "99999999999999999999", "\"chat\"", "7.5"] {
            let kind: syn::Expr = syn::parse_str(kind).unwrap();
            let error = error_of(parse_quote! {
                #[message(kind = #kind)]
                struct Chat;
            });
            assert!(error.starts_with("a kind is "), "{error}");
        }
    }

    #[test]
    fn a_generic_message_needs_a_number() {
        let error = error_of(parse_quote! { struct State<T>(T); });
        assert!(error.contains("#[message(kind = …)]"), "{error}");
        let text = expansion(message(&parse_quote! {
            #[message(kind = 3)]
            struct State<T: Clone>(T);
        }));
        assert!(
            text.contains("impl<T:Clone>::samestep_session::MessageforState<T>where"),
            "{text}"
        );
    }

    #[test]
    fn misplaced_attributes_are_explained() {
        let misplaced: [(DeriveInput, &str); 6] = [
            (
                parse_quote! { struct Chat { #[message(kind = 7)] text: String } },
                "whole type",
            ),
            (
                parse_quote! { enum Chat { #[message(kind = 7)] Text } },
                "whole type",
            ),
            (
                parse_quote! { #[message(kind = 7, kind = 8)] struct Chat; },
                "given twice",
            ),
            (
                parse_quote! { #[message(kin = 7)] struct Chat; },
                "expected `kind`",
            ),
            (
                parse_quote! { #[message(denial = String)] struct Chat; },
                "#[action(denial = …)]",
            ),
            (parse_quote! { union Chat { a: u8, b: i8 } }, "union"),
        ];
        for (input, expected) in misplaced {
            let error = error_of(input);
            assert!(error.contains(expected), "{error}");
        }
        let input = parse_quote! { #[action(kind = 7)] struct Cast; };
        let error = action(&input).unwrap_err().to_string();
        assert!(error.contains("#[message(kind = …)]"), "{error}");
        let input = parse_quote! { #[action(delivery = "unreliable")] struct Cast; };
        let error = action(&input).unwrap_err().to_string();
        assert!(error.contains("reliably"), "{error}");
    }

    #[test]
    fn an_action_is_its_own_command_and_denied_in_words() {
        let text = expansion(action(&parse_quote! { struct Cast; }));
        assert!(text.contains("typeCommand=Self;typeDenial=::std::string::String;"));
        let text = expansion(action(&parse_quote! {
            #[action(command = (PlayerId, Hit), denial = Refusal<u8>, crate = crate)]
            struct Cast;
        }));
        assert!(text.contains("implcrate::ActionforCast"));
        assert!(text.contains("typeCommand=(PlayerId,Hit);typeDenial=Refusal<u8>;"));
    }
}
